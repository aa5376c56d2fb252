package inspect

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
)

// tarOf builds a layer from a recipe of one entry a line:
//
//	file NAME CONTENT   elf:X stands for an ELF file with the soname X
//	dir NAME
//	sym NAME TARGET
//	hard NAME TARGET
//	type T NAME         an entry of typeflag T without content
//
// Names and targets may be quoted as in Go. A # starts a comment line.
func tarOf(t testing.TB, recipe string) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for line := range strings.Lines(recipe) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		h, content := recipeEntry(t, line)
		require.NoError(t, tw.WriteHeader(h), line)
		_, err := io.WriteString(tw, content)
		require.NoError(t, err, line)
	}
	require.NoError(t, tw.Close())
	return buf.Bytes()
}

func recipeEntry(t testing.TB, line string) (*tar.Header, string) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	first, second, _ := strings.Cut(rest, " ")
	h := &tar.Header{Name: unquote(t, first), Mode: 0o644}
	switch verb {
	case "file":
		content := second
		if soname, ok := strings.CutPrefix(second, "elf:"); ok {
			content = elfContent(soname)
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

func elfContent(soname string) string { return elfMagic + soname }

// testScan is a scanner for the files of recipes. It reads all of a file of
// interest, as a real one does.
func testScan(path string, size int64, r io.Reader) (facts.File, []string, bool) {
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
