package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker-credential-helpers/credentials"
	"github.com/google/go-containerregistry/pkg/authn"
)

const (
	// helperPatience is how long a credential helper may take. Some ask the
	// user, and some wait for a desktop that is not there.
	helperPatience = time.Minute
	// tokenUser is the user name of a helper that returns an identity token
	// (docker login documentation, "Credential helper protocol").
	tokenUser = "<token>"
)

// askHelper runs a credential helper; an empty name is none.
func askHelper(ctx context.Context, helper, key, origin string) (found, error) {
	if helper == "" {
		return nothing(), nil
	}
	program := "docker-credential-" + helper
	f := found{
		auth:   authn.Anonymous,
		source: "the credential helper " + strconv.Quote(program) + ", which " + origin + " names",
		remedy: "renew the credentials that it hands out",
	}
	user, secret, err := runHelper(ctx, program, key)
	switch {
	case ctx.Err() != nil:
		return nothing(), ctx.Err()
	case err != nil:
		f.remedy = "mend or remove the helper"
		return f, &credentialError{source: f.source, err: fmt.Errorf("asked for %q: %w", key, err)}
	case secret == "":
		return nothing(), nil
	}
	f.auth = authn.FromConfig(authn.AuthConfig{Username: user, Password: secret})
	if user == tokenUser {
		f.auth = authn.FromConfig(authn.AuthConfig{Username: user, IdentityToken: secret})
	}
	return f, nil
}

// runHelper asks a helper for the credentials of a server. A helper that has
// none says so in words and fails.
func runHelper(ctx context.Context, program, server string) (user, secret string, err error) {
	ctx, cancel := context.WithTimeout(ctx, helperPatience)
	defer cancel()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, credentials.ActionGet)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(server), &out, &complaint
	cmd.WaitDelay = time.Second // for what the helper leaves running
	err = cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", "", errors.New("it is not installed")
	case ctx.Err() != nil:
		return "", "", fmt.Errorf("it did not answer: %w", ctx.Err())
	case err != nil && credentials.IsErrCredentialsNotFoundMessage(strings.TrimSpace(out.String())):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("it failed: %w: %s", err, inert(out.String()+" "+complaint.String()))
	}
	var answer struct{ Username, Secret string }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return "", "", fmt.Errorf("its answer is not JSON: %w", err)
	}
	return answer.Username, answer.Secret, nil
}
