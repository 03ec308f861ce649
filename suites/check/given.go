package check

import (
	"maps"
	"slices"

	"github.com/tidwall/gjson"
)

// Given is what the user says of a target: values that are meant for it, which
// come before any that are made. Each is one JSON object.
type Given struct {
	Tools     map[string][]string // arguments, by tool
	Prompts   map[string][]string // arguments, by prompt
	Templates map[string][]string // variables, by URI template
	Resources []string            // URIs that can be read, listed or not
	// Authorization is what is known of who may use the target, over HTTP.
	Authorization Authorization
}

// GivenArguments returns the arguments that the user gives for a tool, as JSON.
func (t *T) GivenArguments(tool string) []string { return t.given.Tools[tool] }

// GivenPrompts returns the prompts that the user gives arguments for, in order.
func (t *T) GivenPrompts() []string { return slices.Sorted(maps.Keys(t.given.Prompts)) }

// GivenTemplates returns the URI templates that the user gives variables for, in
// order.
func (t *T) GivenTemplates() []string { return slices.Sorted(maps.Keys(t.given.Templates)) }

// GivenPrompt returns the arguments that the user gives for a prompt, as JSON.
func (t *T) GivenPrompt(prompt string) []string { return t.given.Prompts[prompt] }

// GivenVariables returns the variables that the user gives for a URI template,
// as JSON.
func (t *T) GivenVariables(template string) []string { return t.given.Templates[template] }

// GivenResources returns the URIs of resources that the user gives.
func (t *T) GivenResources() []string { return t.given.Resources }

// MayCall tells whether manners allow calling a tool at all: with arguments of
// our own making only if MayInvent.
func (t *T) MayCall(tool gjson.Result) bool {
	return t.MayInvent(tool) || len(t.GivenArguments(tool.Get("name").String())) > 0
}

// MayInvent tells whether manners allow calling a tool with arguments that come
// neither from its author nor from the user.
func (t *T) MayInvent(tool gjson.Result) bool {
	return tool.Get("annotations.readOnlyHint").Bool() || t.allow(tool.Get("name").String())
}

// MayAbuse tells whether invalid arguments may be sent to a tool: a server
// that does not validate would execute them.
func (t *T) MayAbuse(tool gjson.Result) bool { return t.allow(tool.Get("name").String()) }
