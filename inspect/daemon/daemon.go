// Package daemon asks a container daemon for an image: Docker's, or Podman's, which serves
// the same API (Docker Engine API, "Export an image").
//
// # Which daemon
//
// The one that the docker command would ask: that of DOCKER_HOST, else that of the context
// named by DOCKER_CONTEXT or by currentContext in config.json of the docker configuration
// (DOCKER_CONFIG, or ~/.docker), else the one at /var/run/docker.sock. Where nothing answers
// there, Podman's sockets are tried. DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH mean
// what they mean to docker.
//
// # Patience
//
// There is no time limit for a transfer, only one for silence. What breaks is not resumed:
// a daemon writes the archive anew for each request.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrNotFound says that a daemon does not have an image.
var ErrNotFound = errors.New("has no such image")

// isRunning is what to look at where nothing answers at a socket.
const isRunning = "is docker running? podman: systemctl --user start podman.socket"

const (
	defaultStall = time.Minute
	// writing is how many times longer the silence before an archive may be: Docker and
	// Podman write all of it to their own disk before they send the first byte.
	writing = 10
)

// Options say how patient a transfer is.
type Options struct {
	// Stall is how long a daemon may be silent; zero is one minute. It may take ten times
	// as long to begin an archive.
	Stall time.Duration

	after func(time.Duration, func()) timer // nil: time.AfterFunc
}

// timer is the part of a time.Timer that is needed here.
type timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

// Save asks for an image, by a name with its tag or digest or by its ID, and returns what
// docker save writes. The body is not verified in any way, lives no longer than ctx, and is
// for one goroutine; it ends with io.EOF only where the daemon ended it. An image that is not
// there is an error that wraps ErrNotFound. Errors name the daemon.
func Save(ctx context.Context, image string, opt Options) (io.ReadCloser, error) {
	if opt.Stall == 0 {
		opt.Stall = defaultStall
	}
	if opt.after == nil {
		opt.after = func(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }
	}
	hosts, err := find()
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, hosts, opt)
	if err != nil {
		return nil, err
	}
	body, err := c.get(ctx, "/images/"+image+"/get", writing*opt.Stall)
	if err == nil {
		return body, nil
	}
	c.close()
	var no *refusal
	if errors.As(err, &no) && no.absent() {
		return nil, fmt.Errorf("the daemon at %s %w", c.host, ErrNotFound)
	}
	return nil, c.explain(err)
}

// connect returns the first of the hosts at which a daemon answers.
func connect(ctx context.Context, hosts []host, opt Options) (*client, error) {
	var tried []string
	for _, h := range hosts {
		c, err := newClient(h, opt)
		if err != nil {
			return nil, err
		}
		err = c.ping(ctx)
		if err == nil {
			return c, nil
		}
		c.close()
		if len(hosts) == 1 || !isAbsent(err) {
			return nil, c.explain(err)
		}
		tried = append(tried, h.address)
	}
	return nil, fmt.Errorf("no daemon answers at %s; %s", strings.Join(tried, " or "), isRunning)
}

// ping makes sure that a daemon is there and alive.
func (c *client) ping(ctx context.Context) error {
	body, err := c.get(ctx, "/_ping", c.opt.Stall)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(body, maxAnswer))
	return errors.Join(err, body.Close())
}
