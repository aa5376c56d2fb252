package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

const maxRedirects = 5

// attempt makes one request for a manifest or a blob, and repeats it at most
// twice to get past a token that is over and credentials that are refused.
func (r *Repository) attempt(ctx context.Context, path string, header http.Header) (*http.Response, error) {
	l, fresh, err := r.logins.current(ctx)
	var resp *http.Response
	if err == nil {
		resp, err = r.follow(ctx, l, path, header)
	}
	if isExpired(err) && !fresh {
		if l, err = r.logins.renew(ctx, l); err == nil {
			resp, err = r.follow(ctx, l, path, header)
		}
	}
	switch {
	case !isDenied(err):
		return resp, err
	case l.source.anonymous():
		return nil, l.source.explain(r.name, err, err)
	}
	return r.anonymously(ctx, path, header, l.source, err)
}

// anonymously repeats a request without the credentials that did not work.
func (r *Repository) anonymously(ctx context.Context, path string, header http.Header, source found, denied error) (*http.Response, error) {
	var resp *http.Response
	l, err := r.logins.without(ctx)
	if err == nil {
		resp, err = r.follow(ctx, l, path, header)
	}
	switch {
	case isDenied(err):
		return nil, source.explain(r.name, denied, err)
	case errors.Is(err, ErrNotFound):
		return nil, hint(err, err.Error()+" ("+source.note(r.name, denied)+")")
	case err != nil:
		return nil, err
	}
	r.logins.adopt(l)
	r.note(source.note(r.name, denied))
	return resp, nil
}

// isExpired says whether a new token may be all that is needed.
func isExpired(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.denied() && no.code == http.StatusUnauthorized
}

// isDenied says whether it may be better to have no credentials.
func isDenied(err error) bool {
	var no *refusal
	var lost *credentialError
	return errors.As(err, &no) && no.denied() || errors.As(err, &lost)
}

// follow makes one request and goes where it is sent. Each begins at the
// registry, so that the address of a storage server is always a fresh one.
func (r *Repository) follow(ctx context.Context, l *login, path string, header http.Header) (*http.Response, error) {
	u := &url.URL{Scheme: "https", Host: r.name.RegistryStr(), Path: "/v2/" + r.name.RepositoryStr() + "/" + path}
	for hop := 0; ; hop++ {
		resp, err := r.step(ctx, l, u, header)
		if err != nil {
			return nil, err
		}
		switch resp.StatusCode {
		case http.StatusOK, http.StatusPartialContent:
			return resp, nil
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			resp.Body.Close()
			return nil, fmt.Errorf("%q answered %s", resp.Request.URL.Host, status(resp.StatusCode))
		}
		resp.Body.Close()
		from := resp.Request.URL
		if hop == maxRedirects {
			return nil, fmt.Errorf("%q redirected more than %d times", r.name.RegistryStr(), maxRedirects)
		}
		if u, err = from.Parse(resp.Header.Get("Location")); err != nil || resp.Header.Get("Location") == "" {
			return nil, fmt.Errorf("%q redirected to nowhere", from.Host)
		}
		if err := r.wire.border.checkRedirect(from, u); err != nil {
			return nil, err
		}
	}
}

// step makes one request. Credentials are added where the registry is asked,
// and nowhere else.
func (r *Repository) step(ctx context.Context, l *login, u *url.URL, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	// The bytes as they are stored: their size and digest are known.
	req.Header.Set("Accept-Encoding", "identity")
	home := r.wire.border.home(u)
	rt := r.far
	if home {
		rt = l.transport
	}
	resp, err := rt.RoundTrip(req)
	var no *refusal
	if errors.As(err, &no) {
		no.resource, no.away = true, !home
	}
	return resp, err
}
