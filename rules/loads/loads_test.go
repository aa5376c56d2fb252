package loads_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules/loads"
)

func elf(path string, needed ...string) facts.File {
	return facts.File{Path: path, Kind: facts.KindELF, ELF: &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn", Needed: needed}}
}

func program(path string, needed ...string) facts.File {
	f := elf(path, needed...)
	f.ELF.Interp = "/lib64/ld-linux-x86-64.so.2"
	return f
}

func find(t *testing.T, p *facts.Platform) *loads.Set {
	t.Helper()
	k, err := matrix.Load()
	require.NoError(t, err)
	return loads.New(p, k)
}

// roots lists the roots as "kind path", with a mark for those that nothing leads to.
func roots(s *loads.Set) []string {
	var out []string
	for _, l := range s.Loads {
		mark := ""
		if l.Unused {
			mark = " unused"
		}
		out = append(out, string(l.Kind)+" "+l.Root.Path+mark)
	}
	return out
}

func TestRoots(t *testing.T) {
	const site = "/usr/lib/python3/dist-packages"
	p := &facts.Platform{Files: []facts.File{
		program("/usr/bin/serve", "libmine.so"),
		program("/usr/bin/ls", "libc.so.6"),
		elf("/usr/lib64/libmine.so", "libcudart.so.12"),
		elf("/usr/lib64/libcudart.so.12"),
		elf("/usr/lib64/libplugin.so", "libcuda.so.1"),
		elf("/usr/lib64/libz.so.1"),
		elf(site+"/app/_C.abi3.so", "libcuda.so.1"),
		elf(site+"/numpy/_core.so", "libz.so.1"),
	}}
	require.Equal(t, []string{
		"program /usr/bin/serve",
		"extension " + site + "/app/_C.abi3.so",
		"library /usr/lib64/libplugin.so",
	}, roots(find(t, p)), "what others lead to is no root, and what has nothing to do with GPUs is left out")
}

func TestUnusedEnvironments(t *testing.T) {
	files := []facts.File{
		elf("/opt/venv/lib/python3.11/site-packages/a/_C.so", "libcuda.so.1"),
		elf("/opt/conda/envs/old/lib/python3.8/site-packages/a/_C.so", "libcuda.so.1"),
		elf("/opt/pyenv/versions/3.11.4/lib/python3.11/site-packages/a/_C.so", "libcuda.so.1"),
		elf("/opt/conda/pkgs/cupy-13.0.0-py38h1/lib/python3.8/site-packages/a/_C.so", "libcuda.so.1"),
	}
	cases := []struct {
		name   string
		config facts.Config
		used   string // the environments that are used, by a word of theirs
	}{
		{"by PATH", facts.Config{Env: []string{"PATH=/opt/venv/bin:/usr/bin"}}, "venv"},
		{"by a variable", facts.Config{Env: []string{"CONDA_PREFIX=/opt/conda/envs/old"}}, "old"},
		{"by the command", facts.Config{Cmd: []string{"/opt/venv/bin/python", "-m", "a"}}, "venv"},
		{"by PYTHONPATH", facts.Config{Env: []string{"PYTHONPATH=/opt/venv/lib/python3.11/site-packages"}}, "venv"},
		{"by the working directory", facts.Config{WorkingDir: "/opt"}, "venv"},
		{"by a shim of pyenv", facts.Config{Env: []string{"PATH=/opt/pyenv/shims:/usr/bin"}}, "pyenv"},
		{"none is named, a script may use any", facts.Config{}, "venv pyenv old"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var used []string
			for _, l := range find(t, &facts.Platform{Files: files, Config: c.config}).Loads {
				if !l.Unused {
					used = append(used, l.Root.Path)
				}
			}
			words := strings.Fields(c.used)
			require.Len(t, used, len(words))
			for _, word := range words {
				require.Contains(t, strings.Join(used, " "), "/"+word+"/")
			}
		})
	}
}

func TestWhatAnEnvironmentHasInMemory(t *testing.T) {
	const site = "/usr/lib/python3/dist-packages"
	torch := elf(site+"/torch/_C.so", "libtorch.so")
	torch.ELF.RPath = []string{"$ORIGIN/lib"}
	lib := elf(site+"/torch/lib/libtorch.so", "libcudart.so.12")
	lib.ELF.RPath = []string{"$ORIGIN"}
	s := find(t, &facts.Platform{Files: []facts.File{
		torch, lib,
		elf(site + "/torch/lib/libcudart.so.12"),
		elf(site+"/app/_C.so", "libcudart.so.12"),
	}})
	require.True(t, s.Resolved(&loads.Load{Environment: site}, "libcudart.so.12"))
	require.False(t, s.Resolved(&loads.Load{Environment: site}, "libcublas.so.12"))
	require.False(t, s.Resolved(&loads.Load{Environment: "/elsewhere"}, "libcudart.so.12"))
	require.False(t, s.Resolved(&loads.Load{Environment: site, Kind: loads.Program}, "libcudart.so.12"), "a program begins a process")
	small := &loads.Load{Environment: site, Process: s.Loads[0].Process}
	require.Equal(t, site+"/app/_C.so", s.Loads[0].Root.Path)
	require.True(t, s.LoadedBefore(small, "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so.12"))
	require.False(t, s.LoadedBefore(small, "libcudart.so.12", site+"/torch/lib/libcudart.so.12"))
}

// Each of many libraries needs the next and may begin a process, so that their loads together are
// the square of their number.
func TestLoadsOfALongChainAreGivenUp(t *testing.T) {
	const n = 30_000
	p := &facts.Platform{}
	for i := range n {
		needed := fmt.Sprintf("lib%05d.so", i+1)
		if i == n-1 {
			needed = "libcudart.so.12"
		}
		p.Files = append(p.Files, elf(fmt.Sprintf("/usr/lib64/lib%05d.so", i), needed))
	}
	s := find(t, p)
	require.NotEmpty(t, s.TooLarge)
	objects := 0
	for _, l := range s.Loads {
		objects += len(l.Process.Objects)
	}
	require.Less(t, objects, 1<<19)
}

// Poetry keeps the environments that it runs in a cache, PyTorch the extensions that it has
// built, and packages of a user go with any interpreter.
func TestCachesThatAreInUse(t *testing.T) {
	p := &facts.Platform{
		Config: facts.Config{Env: []string{"PATH=/opt/venv/bin:/usr/bin"}},
		Files: []facts.File{
			elf("/opt/venv/lib/python3.11/site-packages/a/_C.so", "libcuda.so.1"),
			elf("/root/.cache/pypoetry/virtualenvs/a-py3.11/lib/b.so", "libcuda.so.1"),
			elf("/root/.cache/torch_extensions/py311_cu126/a/a.so", "libcuda.so.1"),
			elf("/root/.cache/uv/archive-v0/x/a.so", "libcuda.so.1"),
			elf("/root/.local/lib/python3.11/site-packages/a/_C.so", "libcuda.so.1"),
			elf("/srv/pkgs/server/a.so", "libcuda.so.1"),
		},
	}
	var unused []string
	for _, l := range find(t, p).Loads {
		if l.Unused {
			unused = append(unused, l.Root.Path)
		}
	}
	require.Equal(t, []string{"/root/.cache/uv/archive-v0/x/a.so"}, unused)
}

// What only the process of a module itself finds, after it has failed, is not there before it.
func TestOnlyOtherProcessesCount(t *testing.T) {
	const site = "/usr/lib/python3/dist-packages"
	module := elf(site+"/app/_C.so", "libcudart.so.12", "libmine.so")
	module.ELF.RunPath = []string{"$ORIGIN/lib"}
	mine := elf(site+"/app/lib/libmine.so", "libcudart.so.12")
	mine.ELF.RunPath = []string{"/opt/cuda"}
	s := find(t, &facts.Platform{Files: []facts.File{module, mine, elf("/opt/cuda/libcudart.so.12")}})
	require.Len(t, s.Loads, 1)
	require.False(t, s.Resolved(&s.Loads[0], "libcudart.so.12"))
	other := s.Loads[0]
	other.Root = &facts.File{}
	require.True(t, s.Resolved(&other, "libcudart.so.12"))
}
