package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

const sampleImage = "docker-archive:../../../../testdata/sample/app.tar"

// runner is a machine of a fleet that runs ccgate with an empty disk.
type runner struct {
	env            map[string]string
	stdout, stderr bytes.Buffer
}

func (r *runner) run(t *testing.T, args ...string) int {
	t.Helper()
	r.stdout.Reset()
	r.stderr.Reset()
	if _, ok := r.env["CCGATE_CACHE_DIR"]; !ok {
		r.env["CCGATE_CACHE_DIR"] = t.TempDir()
	}
	return Main(t.Context(), args, strings.NewReader(""), &r.stdout, &r.stderr, func(name string) string { return r.env[name] })
}

func newSharedCache(t *testing.T) (*registrytest.Proxy, string) {
	proxy := registrytest.NewProxy(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no credentials of whoever runs the tests
	return proxy, strings.TrimPrefix(server.URL, "http://") + "/team/facts"
}

func TestSharedCacheFlags(t *testing.T) {
	proxy, repo := newSharedCache(t)
	writes := func() (n int) {
		for _, r := range proxy.Requests("") {
			if r.Method != "GET" && r.Method != "HEAD" {
				n++
			}
		}
		return n
	}
	reader := &runner{env: map[string]string{"CCGATE_SHARED_CACHE": repo}}
	require.Equal(t, ExitFindings, reader.run(t, "check", sampleImage))
	require.NotContains(t, reader.stdout.String(), repo)
	require.Zero(t, writes(), "reading is all that is done unless asked for")

	writer := &runner{env: map[string]string{"CCGATE_SHARED_CACHE": repo, "CCGATE_SHARED_CACHE_WRITE": "1"}}
	require.Equal(t, ExitFindings, writer.run(t, "check", sampleImage, "--shared-cache-write=false"))
	require.Zero(t, writes(), "a flag counts more than the environment")
	writer = &runner{env: map[string]string{"CCGATE_SHARED_CACHE": "registry.test/other", "CCGATE_SHARED_CACHE_WRITE": "1"}}
	require.Equal(t, ExitFindings, writer.run(t, "check", sampleImage, "--shared-cache", repo))
	require.NotZero(t, writes())
	require.Empty(t, writer.stderr.String())
	want := writer.stdout.String()

	second := &runner{env: map[string]string{}}
	require.Equal(t, ExitFindings, second.run(t, "check", sampleImage, "--shared-cache", repo))
	line := regexp.MustCompile(`(?m)^Facts of ([2-9]) of ([2-9]) layers came from ` + repo + `\.\n`)
	require.Regexp(t, line, second.stdout.String())
	require.Equal(t, want, line.ReplaceAllString(second.stdout.String(), ""), "and nothing else differs")
	require.Empty(t, second.stderr.String())

	before := len(proxy.Requests(""))
	require.Equal(t, ExitFindings, second.run(t, "check", sampleImage, "--shared-cache", repo, "--no-cache"))
	require.Equal(t, want, second.stdout.String())
	require.Equal(t, ExitFindings, second.run(t, "check", sampleImage, "--shared-cache="))
	require.Equal(t, want, second.stdout.String(), "what came from a repository that is not in use does not count")
	require.Len(t, proxy.Requests(""), before)
}

// What comes from a shared cache is in the facts and in the report, by their schemas.
func TestSharedCacheInJSON(t *testing.T) {
	_, repo := newSharedCache(t)
	machine := func() *runner { return &runner{env: map[string]string{"CCGATE_SHARED_CACHE": repo}} }
	require.Equal(t, ExitOK, machine().run(t, "inspect", sampleImage, "--shared-cache-write"))
	r := machine()
	require.Equal(t, ExitOK, r.run(t, "inspect", sampleImage))
	require.Regexp(t, `Facts of layers 0, .* came from `+repo, r.stdout.String())
	for command, name := range map[string]string{"inspect": "facts-v2", "check": "report-v2"} {
		r := machine()
		r.run(t, command, sampleImage, "--format", "json")
		require.Contains(t, r.stdout.String(), `"`+repo+`"`)
		s, err := jsonschema.NewCompiler().Compile(filepath.Join("../../../../docs/schema", name+".json"))
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(r.stdout.Bytes(), &v))
		require.NoError(t, s.Validate(v))
	}
}

// A run with a cache that is of no use differs from one without by a warning.
func TestATroubledSharedCache(t *testing.T) {
	proxy, repo := newSharedCache(t)
	plain := &runner{env: map[string]string{}}
	require.Equal(t, ExitFindings, plain.run(t, "check", sampleImage))
	proxy.Always("/manifests/", registrytest.Status(403, `{"errors":[{"code":"DENIED","message":"no\n::error::x"}]}`))
	r := &runner{env: map[string]string{"CCGATE_SHARED_CACHE": repo, "CCGATE_SHARED_CACHE_WRITE": "true"}}
	require.Equal(t, ExitFindings, r.run(t, "check", sampleImage))
	require.Equal(t, plain.stdout.String(), r.stdout.String())
	require.Equal(t, 1, strings.Count(r.stderr.String(), "\n"), r.stderr.String())
	require.Contains(t, r.stderr.String(), "ccgate: warning: shared cache "+repo+": ")
}
