package badinput

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

func Test49HostsAndCertificates(t *testing.T) {
	for _, host := range []string{"localhost:5000", "127.0.0.1:5000", "127.8.9.10:5000", "[::1]:5000", "registry.localhost:5000"} {
		t.Run("HTTP on "+host, func(t *testing.T) {
			newNetwork(t).serve(t, host, newRepository(pulled(t)))
			accept(t, host+"/repo:tag")
		})
	}
	for _, host := range []string{publicHost, "[2001:db8::1]:5000", "10.1.2.3:5000"} {
		t.Run("no HTTP on "+host, func(t *testing.T) {
			newNetwork(t).serve(t, host, newRepository(pulled(t)))
			refuse(t, cli.ExitUnread, "the registry speaks plain HTTP; use --plain-http if that is right", host+"/repo:tag")
			accept(t, host+"/repo:tag", "--plain-http")
		})
	}
	t.Run("certificates", func(t *testing.T) {
		server := newNetwork(t).server(publicHost, newRepository(pulled(t)))
		server.StartTLS()
		t.Cleanup(server.Close)
		ref := publicHost + "/repo:tag"
		refuse(t, cli.ExitUnread, "use --tls-ca FILE or --tls-verify=false", ref)
		accept(t, ref, "--tls-verify=false")
		ca := writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		refuse(t, cli.ExitUnread, "the certificate of the registry is for another host", ref, "--tls-ca", ca)
		refuse(t, cli.ExitUsage, "holds none in PEM form", ref, "--tls-ca", writeFile(t, "ca.pem", []byte("no certificate")))
		refuse(t, cli.ExitUsage, "reading certificates", ref, "--tls-ca", "/nowhere.pem")
	})
	t.Run("certificate of an own authority", func(t *testing.T) {
		server := newNetwork(t).server("127.0.0.1:5000", newRepository(pulled(t)))
		server.StartTLS()
		t.Cleanup(server.Close)
		ca := writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		refuse(t, cli.ExitUnread, "is signed by an unknown authority", "127.0.0.1:5000/repo:tag")
		accept(t, "127.0.0.1:5000/repo:tag", "--tls-ca", ca)
	})
	t.Run("proxy", func(t *testing.T) {
		var asked []string
		r := newRepository(pulled(t))
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			asked = append(asked, req.Host)
			r.ServeHTTP(w, req)
		}))
		t.Cleanup(proxy.Close)
		cmd := program(t, "inspect", "--format", "json", "--no-cache", "--plain-http", publicHost+"/repo:tag")
		cmd.Env = append(cmd.Env, "HTTP_PROXY="+proxy.URL)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Contains(t, string(out), libraryPath)
		require.Contains(t, asked, publicHost)
		proxy.Close()
		cmd = program(t, "inspect", "--no-cache", "--plain-http", publicHost+"/repo:tag")
		cmd.Env = append(cmd.Env, "HTTP_PROXY="+proxy.URL)
		out, err = cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, cli.ExitUnread, cmd.ProcessState.ExitCode())
		require.Contains(t, string(out), strings.TrimPrefix(proxy.URL, "http://"))
	})
}

func Test50TagMovesDuringTheScan(t *testing.T) {
	r := newRepository(pulled(t))
	newNetwork(t).serve(t, loopbackHost, r)
	next := newImage(gzipMember(t, tarOf(t, text("opt/libk.so")), nil))
	next.seal()
	first := r.image.root.Digest.String()
	r.Inject("/manifests/", func(w http.ResponseWriter, req *http.Request, backend http.Handler) {
		backend.ServeHTTP(w, req)
		for h, b := range next.blobs {
			if h != next.root.Digest {
				registrytest.PutBlob(r.backend, "repo", b)
			}
		}
		registrytest.PutManifest(r.backend, "repo", "tag", types.OCIManifestSchema1, next.rawManifest)
	})
	img, o := process{}.inspect(t, reference)
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	requireLibrary(t, &img.Platforms[0])
	require.Equal(t, first, img.Digest)
	require.Equal(t, first, img.Platforms[0].Digest)

	img, _ = process{}.inspect(t, reference)
	require.Equal(t, next.root.Digest.String(), img.Digest)
	require.Empty(t, img.Platforms[0].Files)
	require.Contains(t, process{}.judge(t, fits, reference).stdout, "\n"+img.Digest+"\n", "the report says which image it is about")
	accept(t, loopbackHost+"/repo@"+first)
}
