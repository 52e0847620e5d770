package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// image describes the archive.
type image struct {
	name, version, arch string
	made                time.Time
}

// blob is content that is addressed by its hash.
type blob struct {
	kind string
	data []byte
}

func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (b blob) path() string { return "blobs/sha256/" + digest(b.data) }

// object is an object of JSON, as OCI's image specification defines it.
type object = map[string]any

// descriptor refers to the blob.
func (b blob) descriptor() object {
	return object{"mediaType": b.kind, "digest": "sha256:" + digest(b.data), "size": len(b.data)}
}

func (i image) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "cronring",
		"org.opencontainers.image.description": "A replacement for cron: the daemon and its command-line program",
		"org.opencontainers.image.version":     i.version,
		"org.opencontainers.image.licenses":    "MIT",
		"org.opencontainers.image.source":      "https://github.com/cronring/cronring",
		"org.opencontainers.image.created":     i.made.Format(time.RFC3339),
	}
}

// config returns the configuration of a container. It sets XDG_STATE_HOME, so that both programs
// find the state directory and its socket, and "exec CONTAINER cronring status" needs no flag.
func (i image) config(layer []byte) object {
	return object{
		"created": i.made, "architecture": i.arch, "os": "linux",
		"config": object{
			"User":       fmt.Sprintf("%d:%d", nobody, nobody),
			"Env":        []string{"PATH=/usr/local/bin:/usr/bin:/bin", "XDG_STATE_HOME=/var/lib", "HOME=/home/cronring"},
			"Entrypoint": []string{"cronringd"},
			"Cmd":        []string{"/crontab"},
			"WorkingDir": "/",
			"Labels":     i.labels(),
			"StopSignal": "SIGTERM",
			// Reserved by OCI for Docker, which monitors a container with it.
			"Healthcheck": object{"Test": []string{"CMD", "cronring", "status", "--ping"}},
		},
		"rootfs":  object{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history": []object{{"created": i.made, "created_by": "make container"}},
	}
}

// write writes the archive: an OCI image layout in a tar file.
func (i image) write(w io.Writer, root []file) error {
	layer, err := tarball(root, i.made)
	if err != nil {
		return err
	}
	packed, err := gzipped(layer)
	if err != nil {
		return err
	}
	l := blob{typeLayer, packed}
	c := blob{typeConfig, encode(i.config(layer))}
	m := blob{typeManifest, encode(object{"schemaVersion": 2, "mediaType": typeManifest, "config": c.descriptor(), "layers": []object{l.descriptor()}, "annotations": i.labels()})}
	entry := m.descriptor()
	entry["platform"] = object{"architecture": i.arch, "os": "linux"}
	entry["annotations"] = object{
		"org.opencontainers.image.ref.name": i.name + ":" + i.version,
		"io.containerd.image.name":          i.name + ":" + i.version,
	}
	archive, err := tarball([]file{
		{"oci-layout", 0o644, 0, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, 0, encode(object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{entry}})},
		// Docker's table of contents from before OCI, which "docker load" still requires.
		{"manifest.json", 0o644, 0, encode([]object{{"Config": c.path(), "RepoTags": []string{i.name + ":" + i.version}, "Layers": []string{l.path()}}})},
		{"blobs/", 0o755, 0, nil},
		{"blobs/sha256/", 0o755, 0, nil},
		{m.path(), 0o644, 0, m.data},
		{c.path(), 0o644, 0, c.data},
		{l.path(), 0o644, 0, l.data},
	}, i.made)
	if err != nil {
		return err
	}
	_, err = w.Write(archive)
	return err
}

// encode returns the JSON encoding of a value. Encoding the types of this package never fails.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
