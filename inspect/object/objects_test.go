package object_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
)

// kinds maps the words of expected.txt, which are cuobjdump's, to those of facts.
var kinds = map[string]facts.EntryKind{
	"elf": facts.EntryCubin, "ptx": facts.EntryPTX, "ltoir": facts.EntryLTOIR, "reloc": facts.EntryRelocPTX, "tileir": facts.EntryTileIR,
}

// expected reads testdata/objects/expected.txt: file, kind, target and count, with tabs between.
func expected(t *testing.T) map[string]map[string]int {
	t.Helper()
	b, err := os.ReadFile("../../testdata/objects/expected.txt")
	require.NoError(t, err)
	all := map[string]map[string]int{}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, f, 4, line)
		require.Contains(t, kinds, f[1], line)
		var count int
		_, err := fmt.Sscan(f[3], &count)
		require.NoError(t, err, line)
		if all[f[0]] == nil {
			all[f[0]] = map[string]int{}
		}
		all[f[0]][string(kinds[f[1]])+" "+f[2]] += count
	}
	return all
}

// Every compiled object holds what its command line asked for, and is read the same with random
// access and as a stream.
func TestCompiledObjects(t *testing.T) {
	want := expected(t)
	files, err := filepath.Glob("../../testdata/objects/*.*")
	require.NoError(t, err)
	seen := 0
	for _, path := range files {
		name := filepath.Base(path)
		switch filepath.Ext(name) {
		case ".sh", ".md", ".txt":
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			if filepath.Ext(name) == ".ltoir" {
				_, _, ok := scan(t, name, b)
				require.False(t, ok, "code for the linker alone is of no interest")
				return
			}
			f := complete(t, name, b)
			got := map[string]int{}
			for _, e := range entries(f) {
				got[string(e.Kind)+" "+e.Target]++
			}
			require.Equal(t, want[name], got)
		})
		delete(want, name)
	}
	require.NotZero(t, seen)
	require.Empty(t, want, "listed and not there")
}

func entries(f facts.File) []facts.Entry {
	var all []facts.Entry
	if f.Code == nil {
		return nil
	}
	for _, c := range f.Code.Containers {
		all = append(all, c.Entries...)
	}
	return append(all, f.Code.Loose...)
}

// What the names of the compiled objects say is what is read from them.
func TestCompiledObjectsInDetail(t *testing.T) {
	for name := range expected(t) {
		b, err := os.ReadFile("../../testdata/objects/" + name)
		require.NoError(t, err)
		f, _, _ := object.Scan(name, int64(len(b)), bytes.NewReader(b))
		release, rest, _ := strings.Cut(name, "-")
		if f.Code.Toolkit != "" || strings.HasPrefix(rest, "plain") {
			require.Equal(t, release, f.Code.Toolkit, name)
		}
		// Without -rdc, functions that no kernel calls are dropped.
		empty := strings.HasPrefix(rest, "stub") && strings.HasSuffix(rest, ".o") || strings.HasPrefix(rest, "device-")
		relocatable := strings.HasPrefix(rest, "relocatable") || strings.HasSuffix(rest, "rdc.o")
		for _, e := range entries(f) {
			if strings.Contains(rest, "okey") && e.Kind == facts.EntryPTX {
				require.Equal(t, "obfuscated", e.Opaque, name)
				continue
			}
			require.Empty(t, e.Opaque, name)
			if e.Kind == facts.EntryCubin && !strings.HasSuffix(rest, ".so") {
				require.Equal(t, empty, e.Empty, name)
				require.Equal(t, relocatable, e.Relocatable, name)
			}
		}
	}
}
