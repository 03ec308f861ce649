package transcript

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Scope is what a page of the specification describes: its definitions, without the
// places in them that other checks judge.
type Scope struct {
	Definitions []string
	Elsewhere   []string // see PointerMatches
}

// Judge judges the messages of the definitions, except at the places that other checks
// judge.
func (p Scope) Judge(j *check.J) {
	for _, def := range p.Definitions {
		check.Each(j, ValidatedMessages(j, def), func(h Validated) bool {
			for _, v := range h.Violations {
				if !PointerMatches(v.Pointer(), CommonPlaces) && !PointerMatches(v.Pointer(), p.Elsewhere) {
					j.Fail(h.Entry, "%s is no %s of %s: %s", h.Name, v.Definition, j.Rev, v)
					return false
				}
			}
			return true
		})
	}
}

// CommonPlaces are the places of any definition that have checks of their own.
var CommonPlaces = []string{
	"/jsonrpc", "/id", "/method", // jsonrpc.*
	"/resultType",         // jsonrpc.result-type.*
	"**/_meta/**",         // schema.meta.*
	"**/annotations/*/**", // schema.annotations.*
	"**/icons/**",         // schema.icons.*
}

// PointerMatches reports whether a JSON pointer is one of the places. In a place a star
// is any one step, and two stars are any number of steps: "**/_meta/**" is _meta
// anywhere and everything in it.
func PointerMatches(pointer string, places []string) bool {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	return slices.ContainsFunc(places, func(place string) bool {
		return stepsMatch(strings.Split(strings.TrimPrefix(place, "/"), "/"), steps)
	})
}

func stepsMatch(place, steps []string) bool {
	switch {
	case len(place) == 0:
		return len(steps) == 0
	case place[0] == "**":
		return stepsMatch(place[1:], steps) || len(steps) > 0 && stepsMatch(place, steps[1:])
	case len(steps) == 0:
		return false
	}
	return (place[0] == "*" || place[0] == steps[0]) && stepsMatch(place[1:], steps[1:])
}
