package registry

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
)

// border says where requests may go. It holds for whatever a registry makes a
// client do: redirects, its authorization server, and the redirects of that.
type border struct {
	host      string // of the registry, with the port if it was given
	plain     bool   // HTTP may be spoken
	plainOnly bool   // with the registry, HTTP has to be spoken
	loops     bool   // it is on this machine
	// inside says whether the registry is on this machine or a private network.
	inside func() bool
}

// borderError says that a request was not made.
type borderError struct {
	url    string
	reason string
}

// Error names the place, without the query, which may hold a signature.
func (e *borderError) Error() string {
	return fmt.Sprintf("refused to go to %q: %s", e.url, e.reason)
}

func newBorder(host string, plain bool, find resolver) (border, error) {
	u, err := url.Parse("https://" + host)
	if err != nil {
		return border{}, fmt.Errorf("registry %q: %w", host, err)
	}
	kind := classify(u.Hostname())
	inside := func() bool { return kind == loopback || kind == private }
	if kind == public {
		inside = sync.OnceValue(func() bool { return find.isInside(u.Hostname()) })
	}
	return border{host: host, plain: plain || kind == loopback, plainOnly: plain, loops: kind == loopback, inside: inside}, nil
}

// home says whether a URL leads to the registry itself.
func (b border) home(u *url.URL) bool { return strings.EqualFold(u.Host, b.host) }

// scheme returns the URL that is asked for u. Whatever the authentication tries,
// the registry itself is asked by HTTP if that is all it speaks, and by HTTPS
// if it may not speak anything else.
func (b border) scheme(u *url.URL) *url.URL {
	want := u.Scheme
	switch {
	case !b.home(u):
	case b.plainOnly:
		want = "http"
	case !b.plain:
		want = "https"
	}
	if want == u.Scheme {
		return u
	}
	other := *u
	other.Scheme = want
	return &other
}

// check looks at a request before it is made.
func (b border) check(u *url.URL) error {
	refuse := func(reason string) error {
		return &borderError{url: location(u), reason: reason}
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("it is neither HTTPS nor HTTP")
	case u.Scheme == "http" && !b.plain:
		return refuse("it is not encrypted; use --plain-http if the registry has no TLS")
	case b.home(u):
		return nil
	}
	return b.checkHost(u, refuse)
}

func (b border) checkHost(u *url.URL, refuse func(string) error) error {
	switch classify(u.Hostname()) {
	case forbidden:
		return refuse("it is an address that only this machine or its link can mean")
	case loopback, private:
		if !b.inside() {
			return refuse("it is on this machine or a private network, and the registry is not")
		}
	}
	return nil
}

// checkRedirect looks at one step from a server to the next.
func (b border) checkRedirect(from, to *url.URL) error {
	if from.Scheme == "https" && to.Scheme == "http" {
		return &borderError{url: location(to), reason: "the redirect leaves encryption behind"}
	}
	return b.check(to)
}

// location is a URL without the parts that may hold secrets.
func location(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
