package scenario

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The scenarios have unique names and serve every revision.
func TestScenariosServeEveryRevision(t *testing.T) {
	names, plain := map[string]bool{}, spec.Set(0)
	for _, s := range Scenarios() {
		if names[s.Name] || s.Says == "" || s.Serves == 0 {
			t.Errorf("scenario %q has a duplicate name, or an empty Says or Serves", s.Name)
		}
		names[s.Name] = true
		if s.Plain != "" {
			plain |= spec.Only(s.Plain)
		}
	}
	if plain != spec.Every {
		t.Errorf("only the revisions %s have a plain server", plain)
	}
}
