package registry

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// address is what kind of machine a host name or an address literal means.
type address int

// lookupPatience is how long a name may take to resolve.
const lookupPatience = 10 * time.Second

const (
	// public is also every name that is resolved elsewhere.
	public address = iota
	loopback
	private
	// forbidden are addresses that serve one machine or one link, among them
	// those where clouds keep the credentials of a machine.
	forbidden
)

// classify returns the kind of a host, given as in url.URL.Hostname. Names are
// not resolved: behind a proxy this machine may not even be able to.
func classify(host string) address {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return loopback
	}
	literal, _, _ := strings.Cut(host, "%") // a zone changes nothing
	ip, err := netip.ParseAddr(literal)
	if err != nil {
		if isMetadataName(host) || endsInNumber(host) {
			return forbidden
		}
		return public
	}
	ip = ip.Unmap()
	switch {
	case ip.IsLinkLocalUnicast(), ip.IsUnspecified(), ip.IsMulticast(), isMetadataAddress(ip):
		return forbidden
	case ip.IsLoopback():
		return loopback
	case ip.IsPrivate(), netip.MustParsePrefix("100.64.0.0/10").Contains(ip), netip.MustParsePrefix("0.0.0.0/8").Contains(ip):
		return private
	}
	return public
}

// resolver resolves a name. A nil one asks the resolver of the system.
type resolver func(ctx context.Context, network, host string) ([]netip.Addr, error)

// isInside says whether a name means nothing but addresses of a private network, as
// that of a registry inside a company does, whose storage may have no name at all.
func (l resolver) isInside(host string) bool {
	if l == nil {
		l = net.DefaultResolver.LookupNetIP
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupPatience)
	defer cancel()
	found, err := l(ctx, "ip", host)
	return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(ip netip.Addr) bool {
		kind := classify(ip.String())
		return kind != private && kind != loopback
	})
}

// isMetadataName knows the names under which clouds serve machine credentials.
// Most clouds use link-local addresses, which have no names.
func isMetadataName(host string) bool {
	return slices.Contains([]string{"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"}, host)
}

// isMetadataAddress knows the addresses for the same that are not link-local:
// Amazon's for IPv6, Azure's and Alibaba's.
func isMetadataAddress(ip netip.Addr) bool {
	return slices.Contains([]string{"fd00:ec2::254", "168.63.129.16", "100.100.100.200"}, ip.String())
}

// endsInNumber finds the old spellings of IPv4 addresses, such as 127.1,
// 0x7f.1 and 2130706433, that resolvers still accept. No name in the DNS ends
// in a number (RFC 3696, section 2).
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
