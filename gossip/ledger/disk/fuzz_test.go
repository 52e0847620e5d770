package disk

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"testing"
)

// FuzzMeta reads a list of segments that may be anything, with the checksum
// that it needs.
func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"State":{"NextSegmentID":1,"Segments":[{"ID":1}]},"Stable":{"a":"Yg=="}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeMeta(b)
		if !json.Valid(b) {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil {
			return
		}
		file, err := json.Marshal(metaFile{crc32.Checksum(compact.Bytes(), crcTable), compact.Bytes()})
		if err != nil {
			return
		}
		if s, err := decodeMeta(file); err == nil && s.Stable == nil {
			t.Error("no place for votes")
		}
	})
}
