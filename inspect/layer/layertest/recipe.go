// Package layertest builds layers for tests from recipes, and reads their files.
package layertest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Tar builds a layer from a recipe of one entry a line:
//
//	file NAME CONTENT   elf:X stands for an ELF file with the soname X
//	dir NAME
//	sym NAME TARGET
//	hard NAME TARGET
//	type T NAME         an entry of typeflag T without content
//
// Names and targets may be quoted as in Go. A # starts a comment line.
func Tar(t testing.TB, recipe string) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for line := range strings.Lines(recipe) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		h, content := Entry(t, line)
		require.NoError(t, tw.WriteHeader(h), line)
		_, err := io.WriteString(tw, content)
		require.NoError(t, err, line)
	}
	require.NoError(t, tw.Close())
	return buf.Bytes()
}

// Entry is one line of a recipe: its header and its content.
func Entry(t testing.TB, line string) (*tar.Header, string) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	first, second, _ := strings.Cut(rest, " ")
	h := &tar.Header{Name: unquote(t, first), Mode: 0o644}
	switch verb {
	case "file":
		content := second
		if soname, ok := strings.CutPrefix(second, "elf:"); ok {
			content = ELF(soname)
		}
		h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
		return h, content
	case "dir":
		h.Typeflag = tar.TypeDir
	case "sym":
		h.Typeflag, h.Linkname = tar.TypeSymlink, unquote(t, second)
	case "hard":
		h.Typeflag, h.Linkname = tar.TypeLink, unquote(t, second)
	case "type":
		h.Typeflag, h.Name = first[0], unquote(t, second)
	default:
		require.Fail(t, "unknown verb", line)
	}
	return h, ""
}

func unquote(t testing.TB, s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	u, err := strconv.Unquote(s)
	require.NoError(t, err, s)
	return u
}

const elfMagic = "\x7fELF"

// ELF is the content that stands for an ELF file in a recipe.
func ELF(soname string) string { return elfMagic + soname }

// Scan is a scanner for the files of recipes. It reads all of a file of
// interest, as a real one does.
func Scan(path string, size int64, r io.Reader) (facts.File, []string, bool) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return facts.File{}, []string{err.Error()}, false
	}
	switch string(head[:n]) {
	case elfMagic:
		rest, err := io.ReadAll(r)
		if err != nil {
			return facts.File{}, []string{"cut off"}, false
		}
		if int64(n+len(rest)) != size {
			return facts.File{}, []string{"wrong size"}, false
		}
		elf := &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn", Soname: string(rest)}
		return facts.File{Path: "overwritten", Kind: facts.KindELF, ELF: elf}, nil, true
	case "brok":
		return facts.File{}, []string{"broken header"}, false
	case "half":
		return facts.File{Kind: facts.KindFatbin}, []string{"second half"}, true
	case "boom":
		panic("scanner bug in " + path)
	}
	return facts.File{}, nil, false
}

// Compress stores a tar as a layer with "gzip", "zstd" or no compression.
func Compress(t testing.TB, plain []byte, compression string) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	switch compression {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zstd":
		z, err := zstd.NewWriter(&buf)
		require.NoError(t, err)
		w = z
	default:
		return plain
	}
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// Describe writes what is visible, one line each, with the layer first.
func Describe(p *facts.Platform) string {
	var b strings.Builder
	for _, f := range p.Files {
		soname := string(f.Kind)
		if f.ELF != nil {
			soname = f.ELF.Soname
		}
		fmt.Fprintf(&b, "%d file %s %s\n", f.Layer, f.Path, soname)
	}
	for _, l := range p.Links {
		fmt.Fprintf(&b, "%d link %s -> %s\n", l.Layer, l.Path, l.Target)
	}
	for _, u := range p.Unread {
		fmt.Fprintf(&b, "%d unread %s: %s\n", u.Layer, u.Path, u.Reason)
	}
	for _, u := range p.Skipped {
		fmt.Fprintf(&b, "%d skipped %s: %s\n", u.Layer, u.Path, u.Reason)
	}
	return b.String()
}
