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

// descriptor refers to a blob. It is defined in OCI's image specification.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

func (b blob) descriptor() descriptor {
	return descriptor{MediaType: b.kind, Digest: "sha256:" + digest(b.data), Size: len(b.data)}
}

// config is the configuration of a container of the image.
type config struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       process   `json:"config"`
	RootFS       layers    `json:"rootfs"`
	History      []history `json:"history"`
}

type process struct {
	User       string            `json:"User"`
	Env        []string          `json:"Env"`
	Entrypoint []string          `json:"Entrypoint"`
	Cmd        []string          `json:"Cmd"`
	WorkingDir string            `json:"WorkingDir"`
	Labels     map[string]string `json:"Labels"`
	StopSignal string            `json:"StopSignal"`
	// Reserved by OCI for Docker, which monitors a container with it.
	Healthcheck health `json:"Healthcheck"`
}

type health struct {
	Test []string `json:"Test"`
}

type layers struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// loadable is the table of contents that Docker used before OCI. "docker load" still requires it.
type loadable struct {
	Config   string
	RepoTags []string
	Layers   []string
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
func (i image) config(layer []byte) config {
	return config{
		Created: i.made, Architecture: i.arch, OS: "linux",
		Config: process{
			User:        fmt.Sprintf("%d:%d", nobody, nobody),
			Env:         []string{"PATH=/usr/local/bin:/usr/bin:/bin", "XDG_STATE_HOME=/var/lib", "HOME=/home/cronring"},
			Entrypoint:  []string{"cronringd"},
			Cmd:         []string{"/crontab"},
			WorkingDir:  "/",
			Labels:      i.labels(),
			StopSignal:  "SIGTERM",
			Healthcheck: health{Test: []string{"CMD", "cronring", "status", "--ping"}},
		},
		RootFS:  layers{Type: "layers", DiffIDs: []string{"sha256:" + digest(layer)}},
		History: []history{{Created: i.made, CreatedBy: "make container"}},
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
	m := blob{typeManifest, encode(manifest{SchemaVersion: 2, MediaType: typeManifest, Config: c.descriptor(), Layers: []descriptor{l.descriptor()}, Annotations: i.labels()})}
	entry := m.descriptor()
	entry.Platform = &platform{i.arch, "linux"}
	entry.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": i.name + ":" + i.version,
		"io.containerd.image.name":          i.name + ":" + i.version,
	}
	archive, err := tarball([]file{
		{"oci-layout", 0o644, 0, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, 0, encode(index{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json", Manifests: []descriptor{entry}})},
		{"manifest.json", 0o644, 0, encode([]loadable{{Config: c.path(), RepoTags: []string{i.name + ":" + i.version}, Layers: []string{l.path()}}})},
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
