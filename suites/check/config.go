package check

import (
	"maps"
	"slices"

	"github.com/tidwall/gjson"
)

// Given holds values that the user gives for a target; they are used before any that
// we make. Each is one JSON object.
type Given struct {
	Tools     map[string][]string // arguments, by tool
	Prompts   map[string][]string // arguments, by prompt
	Templates map[string][]string // variables, by URI template
	Resources []string            // URIs that can be read, listed or not
	// Authorization holds the access tokens of the user.
	Authorization Authorization
}

// Arguments returns the arguments that the user gives for a tool, as JSON.
func (c Config) Arguments(tool string) []string { return c.t.given.Tools[tool] }

// Prompts returns the prompts that the user gives arguments for, in order.
func (c Config) Prompts() []string { return slices.Sorted(maps.Keys(c.t.given.Prompts)) }

// Templates returns the URI templates that the user gives variables for, in
// order.
func (c Config) Templates() []string { return slices.Sorted(maps.Keys(c.t.given.Templates)) }

// PromptArguments returns the arguments that the user gives for a prompt, as JSON.
func (c Config) PromptArguments(prompt string) []string { return c.t.given.Prompts[prompt] }

// Variables returns the variables that the user gives for a URI template,
// as JSON.
func (c Config) Variables(template string) []string { return c.t.given.Templates[template] }

// Resources returns the URIs of resources that the user gives.
func (c Config) Resources() []string { return c.t.given.Resources }

// MayCall reports whether a tool may be called at all; with arguments that we make
// only if MayInvent.
func (c Config) MayCall(tool gjson.Result) bool {
	return c.MayInvent(tool) || len(c.Arguments(tool.Get("name").String())) > 0
}

// MayInvent reports whether a tool may be called with arguments that come neither
// from its author nor from the user: it only reads, or the user allows it.
func (c Config) MayInvent(tool gjson.Result) bool {
	return tool.Get("annotations.readOnlyHint").Bool() || c.MaySendInvalid(tool)
}

// MaySendInvalid reports whether invalid arguments may be sent to a tool: a server
// that does not validate them executes the call.
func (c Config) MaySendInvalid(tool gjson.Result) bool {
	return c.t.allow != nil && c.t.allow(tool.Get("name").String())
}
