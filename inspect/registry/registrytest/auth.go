package registrytest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Basic wants a user and a password before it passes a request on.
func Basic(next http.Handler, user, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); ok && u == user && p == password {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	})
}

// Tokens wants a token before it passes a request on, and hands tokens out
// under /token (distribution's token authentication specification).
type Tokens struct {
	next http.Handler
	// User and Password are who gets a token that is good for something.
	User, Password string
	// Public says that nobody in particular gets one too.
	Public bool
	// Realm is the URL of the authorization server; empty: /token here.
	Realm string

	mu     sync.Mutex
	issued int
	oldest int // that is still good
}

// NewTokens returns a Tokens that gives a token to a user.
func NewTokens(next http.Handler, user, password string) *Tokens {
	return &Tokens{next: next, User: user, Password: password}
}

// Expire ends the life of all tokens so far.
func (t *Tokens) Expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.oldest = t.issued + 1
}

// Issued returns how many tokens were handed out.
func (t *Tokens) Issued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.issued
}

// ServeHTTP implements http.Handler.
func (t *Tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		t.hand(w, r)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-")
	n, err := strconv.Atoi(token)
	t.mu.Lock()
	good := ok && err == nil && n >= t.oldest && n <= t.issued && n > 0
	t.mu.Unlock()
	if good {
		t.next.ServeHTTP(w, r)
		return
	}
	realm := t.Realm
	if realm == "" {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		realm = scheme + "://" + r.Host + "/token"
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="registry"`, realm))
	refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
}

func (t *Tokens) hand(w http.ResponseWriter, r *http.Request) {
	user, password, given := r.BasicAuth()
	if given && (user != t.User || password != t.Password) || !given && !t.Public {
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
		return
	}
	t.mu.Lock()
	t.issued++
	n := t.issued
	t.mu.Unlock()
	fmt.Fprintf(w, `{"token":"token-%d"}`, n)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, message)
}
