package daemon

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each way to say where the daemon is leads to the archive.
func TestSave(t *testing.T) {
	plain := func(*httptest.Server) {}
	mutual := func(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} }
	for name, set := range map[string]func(t *testing.T){
		"socket": func(t *testing.T) { t.Setenv("DOCKER_HOST", onSocket(t, daemon(whole))) },
		"tcp": func(t *testing.T) {
			address, _ := onTCP(t, daemon(whole), nil)
			t.Setenv("DOCKER_HOST", "tcp://"+address)
		},
		"no scheme": func(t *testing.T) {
			address, _ := onTCP(t, daemon(whole), nil)
			t.Setenv("DOCKER_HOST", address)
		},
		"http with a path": func(t *testing.T) {
			address, _ := onTCP(t, http.StripPrefix("/docker", daemon(whole)), nil)
			t.Setenv("DOCKER_HOST", "http://"+address+"/docker")
		},
		"TLS": func(t *testing.T) {
			address, s := onTCP(t, daemon(whole), mutual)
			writeTLS(t, os.Getenv("DOCKER_CONFIG"), s)
			t.Setenv("DOCKER_HOST", "tcp://"+address)
			t.Setenv("DOCKER_TLS_VERIFY", "1")
		},
		"TLS, files elsewhere": func(t *testing.T) {
			address, s := onTCP(t, daemon(whole), mutual)
			dir := t.TempDir()
			writeTLS(t, dir, s)
			t.Setenv("DOCKER_HOST", "tcp://"+address)
			t.Setenv("DOCKER_TLS_VERIFY", "1")
			t.Setenv("DOCKER_CERT_PATH", dir)
		},
		"TLS, not verified": func(t *testing.T) {
			address, _ := onTCP(t, daemon(whole), plain)
			t.Setenv("DOCKER_HOST", "tcp://"+address)
			t.Setenv("DOCKER_TLS", "1")
		},
		"context": func(t *testing.T) {
			writeContext(t, "mine", `{"Host":"`+onSocket(t, daemon(whole))+`"}`)
			t.Setenv("DOCKER_CONTEXT", "mine")
		},
		"context, TLS": func(t *testing.T) {
			address, s := onTCP(t, daemon(whole), mutual)
			writeTLS(t, writeContext(t, "far", `{"Host":"tcp://`+address+`"}`), s)
			t.Setenv("DOCKER_CONTEXT", "far")
		},
		"context, TLS, not verified": func(t *testing.T) {
			address, _ := onTCP(t, daemon(whole), plain)
			writeContext(t, "far", `{"Host":"tcp://`+address+`","SkipTLSVerify":true}`)
			t.Setenv("DOCKER_CONTEXT", "far")
		},
		"current context": func(t *testing.T) {
			writeContext(t, "mine", `{"Host":"`+onSocket(t, daemon(whole))+`"}`)
			write(t, []byte(`{"auths":{},"currentContext":"mine"}`), os.Getenv("DOCKER_CONFIG"), "config.json")
		},
		"home": func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			t.Setenv("DOCKER_CONFIG", filepath.Join(home, ".docker"))
			writeContext(t, "mine", `{"Host":"`+onSocket(t, daemon(whole))+`"}`)
			write(t, []byte(`{"currentContext":"mine"}`), home, ".docker", "config.json")
			t.Setenv("DOCKER_CONFIG", "")
		},
		"host before context": func(t *testing.T) {
			t.Setenv("DOCKER_HOST", onSocket(t, daemon(whole)))
			t.Setenv("DOCKER_CONTEXT", "nowhere")
		},
		"context before current context": func(t *testing.T) {
			writeContext(t, "mine", `{"Host":"`+onSocket(t, daemon(whole))+`"}`)
			t.Setenv("DOCKER_CONTEXT", "mine")
			write(t, []byte(`{"currentContext":"nowhere"}`), os.Getenv("DOCKER_CONFIG"), "config.json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t)
			set(t)
			got, err := save(t, Options{})
			require.NoError(t, err)
			require.Equal(t, archive, got)
		})
	}
}

// Where nobody says where the daemon is, it is sought where docker and podman put it.
func TestDefaultPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the default of Windows is a named pipe")
	}
	environment(t)
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1000")
	for _, context := range []string{"", "default"} {
		t.Setenv("DOCKER_CONTEXT", context)
		hosts, err := find()
		require.NoError(t, err)
		require.Equal(t, "[unix:///var/run/docker.sock (the default) unix:///run/user/1000/podman/podman.sock (the default of podman) "+
			"unix:///run/podman/podman.sock (the default of podman)]", fmt.Sprint(hosts))
	}
}

func TestFirstDaemonThatAnswers(t *testing.T) {
	nobody := host{address: "unix://" + filepath.Join(socketDir(t), "s"), source: "the default"}
	there := host{address: onSocket(t, daemon(whole)), source: "the default of podman"}
	sick := host{address: onSocket(t, status(http.StatusServiceUnavailable, `{"message":"starting"}`)), source: "the default"}
	opt := Options{Stall: defaultStall, after: new(fakeClock).after}

	c, err := connect(t.Context(), []host{nobody, there}, opt)
	require.NoError(t, err)
	require.Equal(t, there, c.host)

	_, err = connect(t.Context(), []host{nobody, nobody}, opt)
	require.EqualError(t, err, "no daemon answers at "+nobody.address+" or "+nobody.address+"; is docker running? podman: systemctl --user start podman.socket")

	_, err = connect(t.Context(), []host{sick, there}, opt)
	require.EqualError(t, err, "the daemon at "+sick.address+" (the default): it answered 503 Service Unavailable: starting", "another one may have other images")
}

func TestPlacesThatCannotBe(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "s")
	for name, c := range map[string]struct {
		set  func(t *testing.T)
		want []string
	}{
		"ssh": {dockerHost("ssh://me@far"), []string{"the daemon at ssh://me@far (DOCKER_HOST) is reached by SSH, which is not spoken here",
			"docker save IMAGE | ccgate check -", "set DOCKER_HOST=unix://PATH"}},
		"npipe":      {dockerHost("npipe:////./pipe/docker_engine"), []string{"is reached by a named pipe", "docker save IMAGE | ccgate check -"}},
		"fd":         {dockerHost("fd://3"), []string{`"fd://3" of DOCKER_HOST is not an address; write unix://PATH or tcp://HOST:PORT`}},
		"bad":        {dockerHost("tcp://%zz"), []string{`"tcp://%zz" of DOCKER_HOST is not an address`}},
		"http":       {dockerHost("http://"), []string{`"http://" of DOCKER_HOST is not an address`}},
		"no socket":  {dockerHost("unix://" + absent), []string{"no daemon answers at unix://" + absent + " (DOCKER_HOST); is docker running? podman: systemctl --user start podman.socket"}},
		"no server":  {closedPort, []string{"no daemon answers at tcp://127.0.0.1:", " (DOCKER_HOST); is it running there?"}},
		"no context": {dockerContext("nowhere"), []string{`docker context "nowhere" of DOCKER_CONTEXT: there is no such context; docker context ls lists them`}},
		"no current context": {func(t *testing.T) {
			write(t, []byte(`{"currentContext":"nowhere"}`), os.Getenv("DOCKER_CONFIG"), "config.json")
		}, []string{`docker context "nowhere" of `, "config.json: there is no such context"}},
		"broken configuration": {func(t *testing.T) { write(t, []byte(`{`), os.Getenv("DOCKER_CONFIG"), "config.json") },
			[]string{"the docker configuration \"", "config.json\": unexpected end of JSON input; mend it, or set DOCKER_HOST"}},
		"broken context": {func(t *testing.T) { writeContext(t, "mine", `7`); t.Setenv("DOCKER_CONTEXT", "mine") },
			[]string{`docker context "mine" of DOCKER_CONTEXT: "`, "meta.json"}},
		"empty context": {func(t *testing.T) { writeContext(t, "mine", `{}`); t.Setenv("DOCKER_CONTEXT", "mine") },
			[]string{`docker context "mine" of DOCKER_CONTEXT: it names no docker daemon`}},
		"context by ssh": {func(t *testing.T) {
			writeContext(t, "far", `{"Host":"ssh://me@far"}`)
			t.Setenv("DOCKER_CONTEXT", "far")
		}, []string{`the daemon at ssh://me@far (docker context "far") is reached by SSH`}},
		"broken certificates": {func(t *testing.T) {
			write(t, []byte("none"), os.Getenv("DOCKER_CONFIG"), "ca.pem")
			t.Setenv("DOCKER_HOST", "tcp://127.0.0.1")
			t.Setenv("DOCKER_TLS_VERIFY", "1")
		}, []string{"reading certificates: \"", "ca.pem\" holds none in PEM form"}},
		"broken key": {func(t *testing.T) {
			write(t, []byte("none"), os.Getenv("DOCKER_CONFIG"), "cert.pem")
			write(t, []byte("none"), os.Getenv("DOCKER_CONFIG"), "key.pem")
			t.Setenv("DOCKER_HOST", "tcp://127.0.0.1")
			t.Setenv("DOCKER_TLS_VERIFY", "1")
		}, []string{"reading the certificate \"", "cert.pem\" of the client: "}},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t)
			c.set(t)
			_, err := save(t, Options{})
			contains(t, err, c.want...)
		})
	}
}

func dockerHost(address string) func(*testing.T) {
	return func(t *testing.T) { t.Setenv("DOCKER_HOST", address) }
}

func dockerContext(name string) func(*testing.T) {
	return func(t *testing.T) { t.Setenv("DOCKER_CONTEXT", name) }
}

func closedPort(t *testing.T) {
	address, s := onTCP(t, daemon(whole), nil)
	s.Close()
	t.Setenv("DOCKER_HOST", "tcp://"+address)
}

// The parts of tcp:// that docker fills in.
func TestLocate(t *testing.T) {
	for address, want := range map[string]string{
		"tcp://far": "http://far:2375", "far": "http://far:2375", "tcp://": "http://127.0.0.1:2375", "tcp://:1": "http://127.0.0.1:1",
		"tcp://[::1]": "http://[::1]:2375", "tcp://far:1/a/b": "http://far:1/a/b", "http://far": "http://far", "https://far/x?y#z": "https://far/x",
	} {
		_, _, base, err := host{address: address}.locate()
		require.NoError(t, err, address)
		require.Equal(t, want, base.String(), address)
	}
	_, address, _, err := host{address: "unix://"}.locate()
	require.NoError(t, err)
	require.Equal(t, "/var/run/docker.sock", address)
}
