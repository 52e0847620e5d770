package gossip

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"io"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"
)

// Parts of memberlist's streams. A message begins with its type. An encrypted one continues with its
// length (4 bytes), the version of the encryption (1 byte), a nonce and the sealed message. The seal
// covers the first 5 bytes and the label, too.
const (
	pushPull  = 6
	encrypted = 10
	headLen   = 5
	nonceLen  = 12
	tagLen    = 16
)

// reportOtherRing reads a stream that memberlist rejected because its label is the name of another
// ring. If the sender has a key of this ring, its ring.name is probably wrong. Therefore the hosts
// of that ring are reported. A sender without a key can only replay such a message: then hosts that
// are gone stay visible.
func (r *Ring) reportOtherRing(keyring *memberlist.Keyring, ring string, message io.Reader) {
	if ring == r.o.Ring || keyring == nil {
		return
	}
	plain := decrypt(message, ring, keyring.GetKeys())
	if len(plain) == 0 || plain[0] != pushPull {
		return
	}
	d := codec.NewDecoder(bytes.NewReader(plain[1:]), &codec.MsgpackHandle{})
	var header struct{ Nodes int }
	if d.Decode(&header) != nil {
		return
	}
	for range header.Nodes {
		var n memberlist.Node
		if d.Decode(&n) != nil {
			return
		}
		if n.State == memberlist.StateAlive {
			r.box.NotifyOtherRing(ring, &n)
		}
	}
}

// decrypt returns the content of an encrypted message, or nil if none of the keys fits.
func decrypt(message io.Reader, label string, keys [][]byte) []byte {
	head := make([]byte, headLen)
	if _, err := io.ReadFull(message, head); err != nil || head[0] != encrypted {
		return nil
	}
	sealed, err := io.ReadAll(io.LimitReader(message, int64(binary.BigEndian.Uint32(head[1:]))))
	if err != nil || len(sealed) < 1+nonceLen+tagLen {
		return nil
	}
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			continue // cannot happen: the keyring checked it
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			continue
		}
		if plain, err := gcm.Open(nil, sealed[1:1+nonceLen], sealed[1+nonceLen:], append(head, label...)); err == nil {
			return plain
		}
	}
	return nil
}
