package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
)

// The parts of OCI's documents that the tests read.
type (
	descriptor struct {
		Digest string
		Size   int
	}
	index    struct{ Manifests []descriptor }
	manifest struct {
		Config      descriptor
		Layers      []descriptor
		Annotations map[string]string
	}
	config struct {
		Architecture string
		Config       struct {
			User                 string
			Env, Entrypoint, Cmd []string
			Healthcheck          struct{ Test []string }
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	loadable struct {
		Config           string
		RepoTags, Layers []string
	}
)

// programs is a directory with two files that pass for the programs.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cronring", "cronringd"} {
		filetest.Write(t, filepath.Join(dir, name), "I am "+name, 0o600)
	}
	return dir
}

// written is the archive of an image of these programs.
func written(t *testing.T, bin string) []byte {
	t.Helper()
	to := filepath.Join(t.TempDir(), "image.tar")
	i := image{name: "localhost/cronring", version: "1.2.3", arch: "arm64", made: time.Unix(1700000000, 0).UTC()}
	if err := run(i, bin, to); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// entries reads a tar archive.
func entries(t *testing.T, data []byte) (headers []*tar.Header, contents map[string][]byte) {
	t.Helper()
	contents = map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		if contents[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		headers = append(headers, h)
	}
}

// follow reads what a descriptor points to, as an engine does.
func follow(t *testing.T, contents map[string][]byte, d descriptor) []byte {
	t.Helper()
	sum := strings.TrimPrefix(d.Digest, "sha256:")
	data, ok := contents["blobs/sha256/"+sum]
	if !ok || digest(data) != sum || len(data) != d.Size {
		t.Fatalf("%+v points to %d bytes with hash %s", d, len(data), digest(data))
	}
	return data
}

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// opened is an image, read through OCI's layout.
func opened(t *testing.T, archive []byte) (manifest, config, []byte) {
	t.Helper()
	_, contents := entries(t, archive)
	x := decode[index](t, contents["index.json"])
	if len(x.Manifests) != 1 {
		t.Fatalf("the index has %d manifests, want 1", len(x.Manifests))
	}
	m := decode[manifest](t, follow(t, contents, x.Manifests[0]))
	if len(m.Layers) != 1 {
		t.Fatalf("the image has %d layers, want 1", len(m.Layers))
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(follow(t, contents, m.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return m, decode[config](t, follow(t, contents, m.Config)), layer
}

func TestImageIsTheSameEachTime(t *testing.T) {
	bin := programs(t)
	first := written(t, bin)
	later := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(bin, "cronring"), later, later); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, written(t, bin)) {
		t.Error("two archives of the same programs differ")
	}
	filetest.Write(t, filepath.Join(bin, "cronring"), "another", 0o600)
	if bytes.Equal(first, written(t, bin)) {
		t.Error("the archive of another program is the same")
	}
}

func TestImageIsWhole(t *testing.T) {
	archive := written(t, programs(t))
	m, c, layer := opened(t, archive)
	if got := "sha256:" + digest(layer); len(c.RootFS.DiffIDs) != 1 || c.RootFS.DiffIDs[0] != got {
		t.Errorf("the configuration names the layers %v, the image has %s", c.RootFS.DiffIDs, got)
	}
	if c.Architecture != "arm64" || c.Config.User != "65532:65532" || m.Annotations["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("the image is for %s, of %s, by %v", c.Architecture, c.Config.User, m.Annotations)
	}
	headers, files := entries(t, layer)
	if got := string(files["usr/bin/cronringd"]); got != "I am cronringd" {
		t.Errorf("/usr/bin/cronringd has %q", got)
	}
	for i, h := range headers {
		parent := filepath.Dir(strings.TrimSuffix(h.Name, "/")) + "/"
		if parent != "./" && !slices.ContainsFunc(headers[:i], func(h *tar.Header) bool { return h.Name == parent }) {
			t.Errorf("%s comes before its directory", h.Name)
		}
	}
	_, contents := entries(t, archive)
	if old := decode[[]loadable](t, contents["manifest.json"]); len(old) != 1 ||
		contents[old[0].Config] == nil || contents[old[0].Layers[0]] == nil || !slices.Equal(old[0].RepoTags, []string{"localhost/cronring:1.2.3"}) {
		t.Errorf("manifest.json has %+v", old)
	}
}

func TestImageWithoutPrograms(t *testing.T) {
	to := filepath.Join(t.TempDir(), "image.tar")
	if err := run(image{name: "x", version: "1"}, t.TempDir(), to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an image of no programs: %v, want that they do not exist", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("it was written all the same")
	}
}
