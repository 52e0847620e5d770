package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"strings"

	"github.com/cronring/cronring/daemon/job"
)

// FormerKey returns the key that stands for a job in a database or a ledger of
// version 0.7.0: behind zeros 64 bits of FNV-1a of its ID, see Catalog.Former. What
// a database has under it passes to the job's key at the first start after the
// upgrade.
func FormerKey(former uint64) (key job.Key) {
	binary.BigEndian.PutUint64(key[8:], former)
	return key
}

// IsFormer reports whether a key was made by FormerKey.
func IsFormer(key job.Key) bool { return key.Uint64() == 0 }

// Former returns the hash that a job's ID had in version 0.7.0: IDs had no owner,
// and those of all entries without a name were like those of root's crontabs.
func (c *Catalog) Former(i int) uint64 {
	id := c.ID(i)
	if id.Owner() == "root" {
		return hash(string(id))
	}
	e, name, ordinal := c.Entry(i), id.Name(), c.twins[i].ordinal
	if e.Options().Name == "" || ordinal > 0 {
		_, shard, _ := strings.Cut(name, "#")
		name = string(job.DeriveID("root", e.File().Name, e.User(), e.Command(), ordinal))
		if shard != "" {
			name += "#" + shard
		}
	}
	return hash(name)
}

// hash is FNV-1a, 64 bits. It is only for texts whose collisions affect nothing but their
// own author.
func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
