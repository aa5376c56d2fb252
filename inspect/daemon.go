package inspect

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ccgate/ccgate/inspect/daemon"
)

// daemonName is the name of an image: [HOST[:PORT]/]NAME[:TAG][@DIGEST].
var daemonName = regexp.MustCompile(`^(?:(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// daemonID is the ID of an image, as docker images prints it or in full.
var daemonID = regexp.MustCompile(`^(?:sha256:[0-9a-f]{64}|[0-9a-f]{12,64})$`)

// parseDaemon parses what follows docker-daemon:. A name without a tag or a digest is given the
// tag latest, as docker would otherwise save all tags of the name.
func parseDaemon(s, image string) (Reference, error) {
	if daemonID.MatchString(image) {
		return Reference{Kind: KindDockerDaemon, Text: s, Path: image}, nil
	}
	m := daemonName.FindStringSubmatch(image)
	switch {
	case image == "":
		return Reference{}, badReference(s, "names no image", "write docker-daemon:NAME:TAG")
	case m == nil:
		return Reference{}, badReference(s, "is not an image name", "write docker-daemon:NAME:TAG, docker-daemon:NAME@sha256:DIGEST or docker-daemon:ID")
	case m[1] == "" && m[2] == "":
		image += ":latest"
	}
	return Reference{Kind: KindDockerDaemon, Text: s, Path: image}, nil
}

// openDaemon reads the archive that a daemon writes of an image, front to back.
func openDaemon(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	body, err := daemon.Save(ctx, ref.Path, daemon.Options{Stall: opt.Registry.Stall})
	if errors.Is(err, daemon.ErrNotFound) {
		hint := "docker images lists what it has"
		if name := strings.TrimPrefix(ref.Text, string(KindDockerDaemon)+":"); !daemonID.MatchString(name) {
			hint = "pull it, or write " + name + " to read it from its registry"
		}
		err = fmt.Errorf("%w; %s", err, hint)
	}
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "asking for the image", Err: err}
	}
	defer body.Close()
	return openStream(ctx, ref, body, opt)
}
