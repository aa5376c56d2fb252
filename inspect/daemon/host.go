package daemon

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// host is where a daemon may be.
type host struct {
	address string // as docker writes it: unix://PATH, tcp://HOST:PORT
	source  string // what named it
	tls     *tls.Config
}

// String names the host and what named it.
func (h host) String() string { return h.address + " (" + h.source + ")" }

const (
	dockerSocket = "/var/run/docker.sock"
	podmanSocket = "podman/podman.sock" // below the directory for what runs
	dockerPort   = "2375"
	socketHost   = "daemon.localhost" // what is written where a host has to be
)

// find returns where the daemon of the user is: one place if the user has said so, else the
// usual ones in order.
func find() ([]host, error) {
	if address := os.Getenv("DOCKER_HOST"); address != "" {
		config, err := environmentTLS()
		return []host{{address, "DOCKER_HOST", config}}, err
	}
	if h, ok, err := currentContext(); ok || err != nil {
		return []host{h}, err
	}
	if runtime.GOOS == "windows" {
		return []host{{address: "npipe:////./pipe/docker_engine", source: "the default"}}, nil
	}
	hosts := []host{{address: "unix://" + dockerSocket, source: "the default"}}
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run"} {
		if dir != "" {
			hosts = append(hosts, host{address: "unix://" + filepath.Join(dir, podmanSocket), source: "the default of podman"})
		}
	}
	return hosts, nil
}

// locate returns the network and the address to connect to and the URL to ask there.
func (h host) locate() (network, address string, base *url.URL, err error) {
	scheme, rest, ok := strings.Cut(h.address, "://")
	if !ok {
		scheme, rest = "tcp", h.address
	}
	switch scheme {
	case "unix":
		if rest == "" {
			rest = dockerSocket
		}
		return "unix", rest, &url.URL{Scheme: "http", Host: socketHost}, nil
	case "tcp", "http", "https":
		base, err = url.Parse("http://" + rest)
		if err != nil || base.Host == "" && scheme != "tcp" {
			return "", "", nil, fmt.Errorf("%q of %s is not an address", h.address, h.source)
		}
		base.User, base.RawQuery, base.Fragment = nil, "", ""
		if scheme == "https" || h.tls != nil {
			base.Scheme = "https"
		}
		if scheme == "tcp" {
			base.Host = withPort(base)
		}
		return "tcp", "", base, nil
	case "ssh", "npipe":
		return "", "", nil, fmt.Errorf("the daemon at %s is reached by %s, which is not spoken here; write docker save IMAGE | ccgate check -, "+
			"or forward its socket and set DOCKER_HOST=unix://PATH", h, map[string]string{"ssh": "SSH", "npipe": "a named pipe"}[scheme])
	}
	return "", "", nil, fmt.Errorf("%q of %s is not an address; write unix://PATH or tcp://HOST:PORT", h.address, h.source)
}

// withPort adds to a host of tcp:// what docker adds.
func withPort(u *url.URL) string {
	name, port := u.Hostname(), u.Port()
	if name == "" {
		name = "127.0.0.1"
	}
	if port == "" {
		port = dockerPort
	}
	return net.JoinHostPort(name, port)
}
