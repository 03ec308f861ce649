package usage

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// UseConfigured gets the prompts for which the user gives arguments, and reads the
// resources that the user names by their URI or by the variables of a template, so that
// judges have subjects. All requests are sent at once; those without a quick answer are
// cancelled. It returns the number of answers.
func UseConfigured(t *check.T) (answers int) {
	var running []*check.Call
	ask := func(capability, method string, params check.Params) {
		if !t.Declares(capability) || check.HasTrait(t, slowMethod(method)) {
			return
		}
		if r, err := t.TryStart(method, params); err == nil {
			running = append(running, r)
		}
	}
	for _, name := range t.Config().Prompts() {
		for _, args := range t.Config().PromptArguments(name) {
			ask("prompts", "prompts/get", check.Params{"name": name, "arguments": json.RawMessage(args)})
		}
	}
	for _, uri := range configuredURIs(t) {
		ask("resources", "resources/read", check.Params{"uri": uri})
	}
	until := time.Now().Add(t.Timeout() / 2)
	for _, r := range running {
		if _, err := t.TryAnswer(r, time.Until(until)).Get(); err != nil {
			check.SetTrait(t, slowMethod(r.Method))
			t.Cancel(r)
			continue
		}
		answers++
	}
	return answers
}

// configuredURIs returns the URIs that the user gives, and those of templates with the
// variables that the user gives.
func configuredURIs(t *check.T) []string {
	out := slices.Clone(t.Config().Resources())
	for _, template := range t.Config().Templates() {
		for _, variables := range t.Config().Variables(template) {
			if uri, ok := expandTemplate(template, variables); ok && !slices.Contains(out, uri) {
				out = append(out, uri)
			}
		}
	}
	return out
}

// expandTemplate returns the URI of a template (RFC 6570) with variables, given as a
// JSON object of strings.
func expandTemplate(template, variables string) (uri string, ok bool) {
	parsed, err := uritemplate.New(template)
	if err != nil {
		return "", false
	}
	var given map[string]string
	if json.Unmarshal([]byte(variables), &given) != nil {
		return "", false
	}
	values := uritemplate.Values{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		values.Set(name, uritemplate.String(given[name]))
	}
	uri, err = parsed.Expand(values)
	return uri, err == nil
}
