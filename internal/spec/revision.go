// Package spec holds statements of the specification as data.
//
// Revision names a published protocol revision, and Set is a set of revisions.
// Level is how strongly a rule binds. Facts are the values that differ between
// revisions. Constants name error codes and keys of _meta.
//
// Only this package, session, transport and reference may compare revisions. All
// other code reads a fact of a revision (rev.Facts().Batches) or asks whether a
// set contains it (spec.Since(spec.V2025_06_18).Has(rev)); a test enforces this.
package spec

import (
	"fmt"
	"slices"
	"strings"
)

// A Revision is a published protocol revision. Its value is the string that
// identifies the revision on the wire.
type Revision string

// The published revisions, oldest first.
const (
	V2024_11_05 Revision = "2024-11-05"
	V2025_03_26 Revision = "2025-03-26"
	V2025_06_18 Revision = "2025-06-18"
	V2025_11_25 Revision = "2025-11-25"
	V2026_07_28 Revision = "2026-07-28"
)

var revisions = [...]Revision{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28}

// Revisions returns the published revisions, oldest first.
func Revisions() []Revision { return slices.Clone(revisions[:]) }

// ParseRevision returns the published revision named by s.
func ParseRevision(s string) (Revision, error) {
	if r := Revision(s); r.index() >= 0 {
		return r, nil
	}
	known := make([]string, len(revisions))
	for i, r := range revisions {
		known[i] = string(r)
	}
	return "", fmt.Errorf("unknown protocol revision %q (known: %s)", s, strings.Join(known, ", "))
}

func (r Revision) index() int { return slices.Index(revisions[:], r) }

// A Set is a set of published revisions.
type Set uint8

// Every contains all published revisions.
const Every Set = 1<<len(revisions) - 1

// Only returns the set of the given revisions.
func Only(rs ...Revision) Set {
	var s Set
	for _, r := range rs {
		i := r.index()
		if i < 0 {
			panic(fmt.Sprintf("spec: unknown revision %q", string(r)))
		}
		s |= 1 << i
	}
	return s
}

// Since returns the set of r and all later revisions.
func Since(r Revision) Set { return Every &^ (Only(r) - 1) }

// Until returns the set of r and all earlier revisions.
func Until(r Revision) Set { return Only(r) | (Only(r) - 1) }

// Between returns the set of first, last and the revisions between them.
func Between(first, last Revision) Set { return Since(first) & Until(last) }

// Has reports whether r is in the set.
func (s Set) Has(r Revision) bool {
	i := r.index()
	return i >= 0 && s&(1<<i) != 0
}

// Revisions returns the members of the set, oldest first.
func (s Set) Revisions() []Revision {
	var out []Revision
	for i, r := range revisions {
		if s&(1<<i) != 0 {
			out = append(out, r)
		}
	}
	return out
}

// Newest returns the newest member of the set, or "" if it is empty.
func (s Set) Newest() Revision {
	rs := s.Revisions()
	if len(rs) == 0 {
		return ""
	}
	return rs[len(rs)-1]
}

func (s Set) String() string {
	rs := s.Revisions()
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = string(r)
	}
	return strings.Join(names, ",")
}

// Handshake contains the revisions in which initialize opens a session
// (basic/lifecycle). Stateless contains the revisions in which each request
// carries its own protocol fields (basic/index#statelessness, since 2026-07-28).
const (
	Handshake = Stateless - 1
	Stateless = Set(1 << 4)
)

// Versions that no peer can know: UnknownVersion is that of the example of
// basic/versioning, AncientVersion lies before the first revision, and
// FutureVersion far ahead.
const (
	UnknownVersion = "1999-01-01"
	AncientVersion = "1900-01-01"
	FutureVersion  = "2999-01-01"
)
