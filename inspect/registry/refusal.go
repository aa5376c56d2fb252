package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	maxErrorBody = 8 << 10
	maxMessage   = 300
)

// refusal is an answer with a status of 400 or more.
type refusal struct {
	url      *url.URL
	code     int
	details  []detail
	header   http.Header
	received time.Time // as the server dates it; zero: it does not
	resource bool      // asked for was a manifest or a blob, not a token
	away     bool      // it came from where the registry redirected to
}

// detail is an error as registries report them (OCI distribution specification
// v1.1, "Error Codes").
type detail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func newRefusal(u *url.URL, resp *http.Response) *refusal {
	e := &refusal{url: u, code: resp.StatusCode, header: resp.Header}
	e.received, _ = http.ParseTime(resp.Header.Get("Date"))
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return e // the status says enough
	}
	var report struct {
		Errors []detail `json:"errors"`
	}
	if json.Unmarshal(body, &report) == nil {
		e.details = report.Errors
	}
	return e
}

// Error names the server, the status, and what it says about it.
func (e *refusal) Error() string {
	if e.code == http.StatusNotFound && !e.resource {
		return fmt.Sprintf("%q does not speak the registry protocol: it answered %s for %q", e.url.Host, status(e.code), e.url.Path)
	}
	text := fmt.Sprintf("%q answered %s", e.url.Host, status(e.code))
	for i, d := range e.details {
		if i == 3 {
			break
		}
		text += ": " + inert(strings.TrimSpace(d.Code+" "+d.Message))
	}
	return text
}

// Is makes the absence of a manifest or a blob an ErrNotFound.
func (e *refusal) Is(target error) bool {
	return target == ErrNotFound && e.resource && e.code == http.StatusNotFound
}

// denied says whether the credentials, or their absence, are the reason.
func (e *refusal) denied() bool {
	if e.away {
		return false // of a storage server that knows signatures, not users
	}
	return e.code == http.StatusUnauthorized || e.code == http.StatusForbidden ||
		slices.ContainsFunc(e.details, func(d detail) bool { return d.Code == "DENIED" || d.Code == "UNAUTHORIZED" })
}

// busy says whether the same request may succeed later.
func (e *refusal) busy() bool {
	switch e.code {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// stale says whether another redirect may lead to success. Signatures live for
// minutes, and servers of storage say in several ways that one is over.
func (e *refusal) stale() bool {
	return e.away && slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusGone}, e.code)
}

// limits returns the headers that say how much was allowed, sorted. Their names
// are those of the IETF draft on RateLimit headers and what came before it.
func (e *refusal) limits() string {
	var found []string
	for key, values := range e.header {
		lower := strings.ToLower(key)
		if strings.Contains(lower, "ratelimit") || lower == "retry-after" {
			found = append(found, inert(lower+": "+strings.Join(values, ", ")))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "; ")
}

// inert makes text of a server safe for a terminal, and short.
func inert(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c >= 0x2028 && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
