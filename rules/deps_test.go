package rules_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/ccgate/ccgate/"

// imports is what `go list` says of every package that the module builds: import path
// to direct imports, without those of tests.
type imports map[string][]string

func listImports(t *testing.T) imports {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		require.NoError(t, err, string(failed.Stderr))
	}
	require.NoError(t, err)
	graph := imports{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return graph
		}
		require.NoError(t, err)
		graph[p.ImportPath] = p.Imports
	}
}

// route returns the shortest chain of imports from a package to one that is not
// allowed, or nil.
func (g imports) route(from string, forbidden func(string) bool) []string {
	queue, seen := [][]string{{from}}, map[string]bool{from: true}
	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]
		for _, next := range g[chain[len(chain)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(chain), next)
			if forbidden(next) {
				return longer
			}
			queue = append(queue, longer)
		}
	}
	return nil
}

// under reports whether a package is one of the given or below one of them.
func under(pkg string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return pkg == r || strings.HasPrefix(pkg, r+"/") })
}

// The direction of imports: cmd speaks, rules judge, matrix knows, inspect reads, and facts
// lie in the middle. What must not be reached must not be reached through others either.
func TestImportDirection(t *testing.T) {
	project := strings.TrimSuffix(module, "/")
	table := []struct {
		from      []string // packages, below module
		below     bool     // and those below them
		forbidden []string
		except    []string
	}{
		{from: []string{"rules"}, below: true, forbidden: []string{
			"net", "debug/elf", "os/exec", "github.com/google/go-containerregistry", "github.com/klauspost/compress", "github.com/spf13", "log", "flag",
			module + "inspect", module + "cmd",
		}, except: []string{module + "inspect/facts"}},
		{from: []string{"matrix"}, below: true, forbidden: []string{module + "inspect", module + "rules", module + "cmd", "net", "debug/elf"}},
		{from: []string{"inspect"}, below: true, forbidden: []string{module + "matrix", module + "rules", module + "cmd", "github.com/BurntSushi/toml", "github.com/spf13"}},
		{from: []string{"inspect/fatbin", "inspect/cubin", "inspect/ptx", "inspect/hostelf", "inspect/facts", "inspect/inflate", "inspect/digest", "inspect/limit", "matrix/cuda"}, forbidden: []string{project}},
		{from: []string{"inspect/facts"}, forbidden: []string{""}},
	}
	graph := listImports(t)
	for _, row := range table {
		roots := make([]string, len(row.from))
		for i, f := range row.from {
			roots[i] = module + f
			require.Contains(t, graph, roots[i], "the table names a package that is not there")
		}
		for pkg := range graph {
			if !slices.Contains(roots, pkg) && (!row.below || !under(pkg, roots...)) {
				continue
			}
			chain := graph.route(pkg, func(p string) bool {
				return (slices.Contains(row.forbidden, "") || under(p, row.forbidden...)) && !slices.Contains(row.except, p)
			})
			require.Empty(t, chain, "%s must not reach %s", pkg, strings.Join(chain, " -> "))
		}
	}
}

// Commands are ends: no package of another command or of the library imports them.
func TestNothingImportsCommands(t *testing.T) {
	graph := listImports(t)
	for pkg, list := range graph {
		for _, p := range list {
			if rest, ok := strings.CutPrefix(p, module+"cmd/"); ok {
				command, _, _ := strings.Cut(rest, "/")
				require.True(t, under(pkg, module+"cmd/"+command), "%s imports %s", pkg, p)
			}
		}
	}
}

func TestRoutePrintsTheChain(t *testing.T) {
	g := imports{"a": {"b", "c"}, "b": {"d"}, "c": {"net/http"}, "d": {"net/http"}}
	require.Equal(t, []string{"a", "c", "net/http"}, g.route("a", func(p string) bool { return under(p, "net") }))
	require.Nil(t, g.route("a", func(p string) bool { return under(p, "ne", "net/https") }))
}
