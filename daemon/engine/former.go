package engine

import (
	"encoding/binary"
	"maps"
	"strings"

	"github.com/cronring/cronring/daemon/job"
)

// FormerKey returns the key of a job in a database or a ledger of version 0.7.0:
// 64 bits of FNV-1a of its ID, behind zeros. What a database has under it passes to the
// job's key at the first start after the upgrade.
func FormerKey(hash uint64) (key job.Key) {
	binary.BigEndian.PutUint64(key[8:], hash)
	return key
}

func isFormer(key job.Key) bool { return key.Uint64() == 0 }

// formerHash returns the hash that a slot's ID had in version 0.7.0: IDs had no owner,
// and those of all entries without a name were like those of root's crontabs.
func (s *jobs) formerHash(slot int) uint64 {
	id := s.id(slot)
	if id.Owner() == "root" {
		return hash(string(id))
	}
	e, name := s.entry(slot), id.Name()
	if e.Options().Name == "" || s.twins[slot].ordinal > 0 {
		_, shard, _ := strings.Cut(name, "#")
		name = string(job.DeriveID("root", e.Table().Name, e.User(), e.Command(), s.twins[slot].ordinal))
		if shard != "" {
			name += "#" + shard
		}
	}
	return hash(name)
}

// rename moves what is known under former keys to the keys of today.
func (s *jobs) rename(known map[job.Key]past) {
	former := maps.Clone(known)
	maps.DeleteFunc(former, func(key job.Key, _ past) bool { return !isFormer(key) })
	if len(former) == 0 {
		return
	}
	for slot, key := range s.keys {
		if p, ok := former[FormerKey(s.formerHash(slot))]; ok {
			p.mark, p.ever = max(p.mark, known[key].mark), known[key].ever
			known[key] = p
		}
	}
}
