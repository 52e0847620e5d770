package statistics

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// BlockRuns is how many numbers of runs a block covers, as the triggers of the schema
// have it. To read a million runs from blocks takes a twentieth of the time that
// their rows take.
const BlockRuns = 1024

// A block holds its runs newest first: the JSON of their kinds, a zero byte, and
// blockFields numbers of each run.
const blockFields = 11

// Which times of a run are known.
const (
	knowsDue = 1 << iota
	knowsStarted
	knowsEnded
)

// MakeBlock reads the runs of a block and returns its content.
func (s *Reader) MakeBlock(ctx context.Context, n int64) ([]byte, error) {
	var numbers []byte
	var kinds []SampleKind
	index := map[SampleKind]int{}
	var newer int64 // when the run before was decided
	err := s.sampleRows(ctx, func(r *Sample) {
		k, ok := index[*r.Kind]
		if !ok {
			k = len(kinds)
			kinds, index[*r.Kind] = append(kinds, *r.Kind), k
		}
		var known int64
		times := [...]int64{r.Due, r.Started, r.Ended}
		for i, t := range times {
			if t == NoTime {
				times[i] = 0
			} else {
				known |= 1 << i
			}
		}
		for _, v := range [blockFields]int64{
			int64(r.ID) % BlockRuns, int64(r.Number), int64(k), known, newer - r.Decided,
			times[0] - r.Decided, times[1] - r.Decided, times[2] - times[1], int64(r.Code), int64(r.CPU), r.Memory,
		} {
			numbers = binary.AppendVarint(numbers, v)
		}
		newer = r.Decided
	}, "WHERE id >= ? AND id < ? ORDER BY id DESC", n*BlockRuns, (n+1)*BlockRuns)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(kinds)
	return slices.Concat(head, []byte{0}, numbers), err
}

var errBlock = errors.New("a block of runs is damaged")

// eachOfBlock calls f for the runs of a block whose numbers are above first and up to
// last, newest first.
func eachOfBlock(data []byte, n int64, first, last job.RunID, f func(*Sample)) error {
	var kinds []SampleKind
	head, rows, ok := bytes.Cut(data, []byte{0})
	if err := json.Unmarshal(head, &kinds); err != nil || !ok {
		return errors.Join(errBlock, err)
	}
	var r Sample
	var decided int64
	var v [blockFields]int64
	for p := 0; p < len(rows); {
		for i := range v { // binary.Varint takes twice as long
			var u uint64
			for shift := 0; ; shift += 7 {
				if p == len(rows) {
					return errBlock
				}
				b := rows[p]
				p++
				u |= uint64(b&0x7f) << shift
				if b < 0x80 {
					break
				}
			}
			v[i] = int64(u>>1) ^ -int64(u&1)
		}
		decided -= v[4]
		if r.ID = job.RunID(n*BlockRuns + v[0]); r.ID <= first || r.ID > last {
			continue
		}
		if v[1] < 0 || uint64(v[2]) >= uint64(len(kinds)) {
			return errBlock
		}
		known := v[3]
		at := func(bit, nanos int64) int64 {
			if known&bit == 0 {
				return NoTime
			}
			return nanos
		}
		r.Number, r.Kind, r.Decided, r.Due = int(v[1]), &kinds[v[2]], decided, at(knowsDue, decided+v[5])
		r.Started, r.Ended = at(knowsStarted, decided+v[6]), at(knowsEnded, decided+v[6]+v[7])
		r.Code, r.CPU, r.Memory = int(v[8]), time.Duration(v[9]), v[10]
		f(&r)
	}
	return nil
}

// The statements that make a block. A block whose runs change while they are read is not there any
// more when it is to be filled.
const (
	BeginBlock = "INSERT INTO block (n) VALUES (?) ON CONFLICT DO NOTHING"
	FillBlock  = "UPDATE block SET runs = ?2 WHERE n = ?1"
)
