package offer

import (
	"slices"
)

// EqualNames reports whether two lists hold the same names, in any order.
func EqualNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

const UnknownPrompt = "mcpcheck_no_such_prompt"

const UnknownTool = "mcpcheck_no_such_tool"
