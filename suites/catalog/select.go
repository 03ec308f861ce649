package catalog

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Of returns the checks that judge a role.
func Of(role wire.Role, checks []check.Check) []check.Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c check.Check) bool { return c.Of != role })
}

// Official is the profile of targets that offer the public conformance
// contract.
const Official = "official"

// InProfile returns the checks that need no fixtures or those of the profile,
// "" for none.
func InProfile(profile string, checks []check.Check) []check.Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c check.Check) bool {
		return c.Profile != "" && c.Profile != profile
	})
}

// An UnmatchedError says that a glob matches no check.
type UnmatchedError struct{ Glob string }

func (e *UnmatchedError) Error() string { return fmt.Sprintf("no check matches %q", e.Glob) }

// Select returns the checks whose id matches a glob of only, if there is any,
// and none of skip. A star matches any characters, dots included. A glob that
// matches nothing is an error that names it.
func Select(checks []check.Check, only, skip []string) ([]check.Check, error) {
	for _, glob := range slices.Concat(only, skip) {
		ok := slices.ContainsFunc(checks, func(c check.Check) bool { return Matches(glob, c.ID) })
		if !ok {
			return nil, &UnmatchedError{glob}
		}
	}
	any := func(globs []string, id string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return Matches(g, id) })
	}
	return slices.DeleteFunc(slices.Clone(checks), func(c check.Check) bool {
		return len(only) > 0 && !any(only, c.ID) || any(skip, c.ID)
	}), nil
}

// Matches tells whether a glob matches an id. It uses path.Match, whose star
// stops at slashes only, and ids have none. A glob without star also stands for everything below it: "tools" is
// "tools.*".
func Matches(glob, id string) bool {
	ok, err := path.Match(glob, id)
	return err == nil && ok || strings.HasPrefix(id, glob+".")
}
