package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
)

// The message about a layer began with nothing.
func TestUnreadLayerIsNamed(t *testing.T) {
	p := &pass{platform: &facts.Platform{Name: "linux/amd64"}, unread: []facts.Unread{
		{Layer: 3, Reason: "encrypted layer"}, {Path: "/a.so", Reason: "one"}, {Path: "/a.so", Reason: "two"}, {Path: "/a.so", Reason: "three"}, {Path: "/a.so", Layer: 1, Reason: "four"},
	}}
	var messages []string
	for _, f := range p.unreadFindings(nil) {
		messages = append(messages, f.Message)
	}
	require.Equal(t, []string{
		"layer 3: could not be read: found encrypted layer; needs a sound file",
		"/a.so: could not be read: found one; two; and 1 more; needs a sound file",
		"/a.so: could not be read: found four; needs a sound file",
	}, messages)
}
