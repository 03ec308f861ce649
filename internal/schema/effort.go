package schema

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An effort counts how often subschemas are applied in a validation. A union of
// references to unions doubles the time with each, so that a hostile schema could
// take it without bound.
type effort struct{ spent int }

const maxSteps = 500_000 // about a second

var tooManySteps = fmt.Sprintf("more than %d steps", maxSteps)

// vocabulary makes the engine call Validate where it applies a subschema, and keep
// the keywords that it ignores.
func (e *effort) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "tool:///effort",
		Compile: func(_ *jsonschema.CompilerContext, keywords map[string]any) (jsonschema.SchemaExt, error) {
			return &keywordExtension{effort: e, keywords: keywords}, nil
		},
	}
}

// A keywordExtension adds the keywords of a subschema, as they are in the text, to
// those that the engine keeps.
type keywordExtension struct {
	*effort
	keywords map[string]any
}

// Validate panics at the limit, since the engine cannot be stopped in another way.
// The caller of the engine recovers.
func (e *effort) Validate(*jsonschema.ValidatorContext, any) { e.step() }

func (e *effort) step() {
	if e.spent++; e.spent > maxSteps {
		panic(tooManySteps)
	}
}
