package compare

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
)

// Check is one thing that the dumper does not tell, checked by the command lines
// that made the objects.
type Check struct {
	What   string
	How    string
	Count  int // entries or files looked at
	Failed []string
}

func (c *Check) test(ok bool, format string, args ...any) {
	c.Count++
	if !ok {
		c.Failed = append(c.Failed, fmt.Sprintf(format, args...))
	}
}

// Silent runs the checks over the compiled objects.
func Silent(objects map[string]facts.File, expected string, k *matrix.Knowledge) ([]Check, error) {
	all, err := expectedCheck(objects, expected)
	if err != nil {
		return nil, err
	}
	checks := []Check{all, codecCheck(objects), isaCheck(objects, k), toolkitCheck(objects), stubCheck(objects), relocatableCheck(objects)}
	for _, c := range checks {
		if c.Count == 0 {
			return nil, fmt.Errorf("check of %q looked at nothing", c.What)
		}
	}
	return checks, nil
}

// names returns the objects in order whose name holds one of the parts.
func names(objects map[string]facts.File, parts ...string) []string {
	var out []string
	for name := range objects {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func each(f facts.File, visit func(e *facts.Entry, section string)) {
	if f.Code == nil {
		return
	}
	for i := range f.Code.Containers {
		c := &f.Code.Containers[i]
		for j := range c.Entries {
			visit(&c.Entries[j], c.Section)
		}
	}
	for i := range f.Code.Loose {
		visit(&f.Code.Loose[i], f.Code.Loose[i].Section)
	}
}

// kindNames are the kinds as expected.txt writes them.
var kindNames = map[string]string{
	"cubin": "elf", "ptx": "ptx", "lto-ir": "ltoir", "reloc-ptx": "reloc", "tile-ir": "tileir",
}

func expectedCheck(objects map[string]facts.File, file string) (Check, error) {
	c := Check{What: "kind, target and suffix of every entry", How: "`expected.txt`, written from the command lines, all kinds"}
	f, err := os.Open(file)
	if err != nil {
		return c, err
	}
	defer f.Close()
	type key struct{ file, kind, target string }
	want := map[key]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		p := strings.Split(lines.Text(), "\t")
		if len(p) != 4 {
			return c, fmt.Errorf("%s: line %q", file, lines.Text())
		}
		n, err := strconv.Atoi(p[3])
		if err != nil {
			return c, fmt.Errorf("%s: %w", file, err)
		}
		want[key{p[0], p[1], p[2]}] += n
	}
	have := map[key]int{}
	for name, f := range objects {
		each(f, func(e *facts.Entry, _ string) {
			kind, ok := kindNames[string(e.Kind)]
			if !ok {
				kind = string(e.Kind)
			}
			have[key{name, kind, e.Target}]++
		})
	}
	for k, n := range want {
		c.test(have[k] == n, "%s: %s %s: %d expected, %d read", k.file, k.kind, k.target, n, have[k])
	}
	for k, n := range have {
		if want[k] == 0 {
			c.test(false, "%s: %s %s: none expected, %d read", k.file, k.kind, k.target, n)
		}
	}
	slices.Sort(c.Failed)
	return c, lines.Err()
}

// codecs are the modes of --compress-mode: the codec of PTX, and that of machine
// code.
var codecs = []struct{ part, ptx, cubin string }{
	{"-mode-size.", "zstd", "zstd"}, {"-mode-balance.", "zstd", ""}, {"-mode-speed.", "lz4", ""}, {"-mode-speed-all.", "lz4", "lz4"},
	{"-mode-none.", "", ""}, {"-no-compress.", "", ""}, {"-pack-size.", "zstd", "zstd"}, {"-pack-speed.", "lz4", "lz4"}, {"-pack-balance.", "zstd", ""},
	{"11.8-plain.", "lz4", ""}, {"12.4-plain.", "lz4", ""}, {"13.0-plain.", "zstd", ""}, {"13.5-plain.", "zstd", ""},
	{"11.8-compress-all.", "lz4", "lz4"}, {"12.4-compress-all.", "lz4", "lz4"}, {"13.0-compress-all.", "zstd", "zstd"},
	{"-concat-size.", "zstd", "zstd"}, {"-concat-speed.", "lz4", "lz4"},
}

func codecCheck(objects map[string]facts.File) Check {
	c := Check{What: "codec", How: "`--compress-mode`, `-compress-all` and `-compress=false` of the command line"}
	for _, m := range codecs {
		for _, name := range names(objects, m.part) {
			each(objects[name], func(e *facts.Entry, _ string) {
				want := m.cubin
				if e.Kind == facts.EntryPTX {
					want = m.ptx
				}
				c.test(e.Codec == want, "%s: %s %s is %q, not %q", name, e.Kind, e.Target, e.Codec, want)
			})
		}
	}
	return c
}

// release is the release in the name of an object.
func release(name string) string {
	v, _, _ := strings.Cut(name, "-")
	return v
}

func isaCheck(objects map[string]facts.File, k *matrix.Knowledge) Check {
	c := Check{What: "PTX ISA version", How: "the release of nvcc or NVRTC (packed files apart), by NVIDIA's table of PTX releases"}
	for _, name := range names(objects, "") {
		if strings.Contains(name, "-pack") {
			continue // PTX of other releases
		}
		v, err := cuda.ParseVersion(release(name))
		if err != nil {
			c.test(false, "%s: %v", name, err)
			continue
		}
		isa, ok := k.PTXForRelease(v)
		if !ok {
			c.test(false, "%s: release %s has no PTX version in the matrix", name, v)
			continue
		}
		each(objects[name], func(e *facts.Entry, _ string) {
			if e.Kind == facts.EntryPTX || e.Kind == facts.EntryRelocPTX {
				c.test(e.ISA == isa.String(), "%s: %s %s is of ISA %s, not %s", name, e.Kind, e.Target, e.ISA, isa)
			}
		})
	}
	return c
}

func toolkitCheck(objects map[string]facts.File) Check {
	c := Check{What: "toolkit", How: "the release that compiled; packed files apart, whose code is of other releases"}
	for _, name := range names(objects, "") {
		each(objects[name], func(e *facts.Entry, _ string) {
			if e.Kind != facts.EntryCubin || strings.Contains(name, "-pack") {
				return
			}
			v := release(name)
			c.test(e.Toolkit == v, "%s: %s says %q", name, e.Target, e.Toolkit)
		})
	}
	return c
}

func stubCheck(objects map[string]facts.File) Check {
	c := Check{What: "device-link stubs", How: "`-dlink` of objects without relocatable code writes stubs only; the kernels of the others are there"}
	for _, name := range names(objects, "-stub.o", "-stub-") {
		each(objects[name], func(e *facts.Entry, _ string) { c.test(e.Empty, "%s: %s has code", name, e.Target) })
	}
	for _, name := range names(objects, "-stub.so") {
		empty := 0
		each(objects[name], func(e *facts.Entry, _ string) {
			if e.Empty {
				empty++
			}
		})
		c.test(empty == 1, "%s: %d stubs, not 1", name, empty)
	}
	for _, name := range names(objects, "-plain.", "-host.", "-scale-", "-constant-") {
		each(objects[name], func(e *facts.Entry, _ string) { c.test(!e.Empty, "%s: %s is taken for a stub", name, e.Target) })
	}
	return c
}

func relocatableCheck(objects map[string]facts.File) Check {
	c := Check{What: "relocatable code", How: "`-dc` and `-rdc=true` against ordinary compilation"}
	for _, name := range names(objects, "-rdc.o", "-relocatable-") {
		each(objects[name], func(e *facts.Entry, _ string) {
			if e.Kind == facts.EntryCubin {
				c.test(e.Relocatable, "%s: %s counts as linked", name, e.Target)
			}
		})
	}
	for _, name := range names(objects, "-rdc.so") {
		each(objects[name], func(e *facts.Entry, section string) {
			if e.Kind == facts.EntryCubin {
				c.test(e.Relocatable == (section == "__nv_relfatbin"), "%s: %s in %s", name, e.Target, section)
			}
		})
	}
	for _, name := range names(objects, "-plain.", "-host.", "-scale-", "-stub.") {
		each(objects[name], func(e *facts.Entry, _ string) { c.test(!e.Relocatable, "%s: %s counts as relocatable", name, e.Target) })
	}
	return c
}
