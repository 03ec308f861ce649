package versioning

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestMisspelledVersionsArePublishedRevisions(t *testing.T) {
	for version, want := range map[string]spec.Revision{
		"2025-6-18": spec.V2025_06_18, "v2025-06-18": spec.V2025_06_18, "20250618": spec.V2025_06_18,
		" 2024/11/05 ": spec.V2024_11_05, "2024_11_5": spec.V2024_11_05, "2025.11.25": spec.V2025_11_25,
		"2025-06-18": "", "2025-06-19": "", "2025-18-06": "", "DRAFT-2025-v2": "", "1.0": "", "": "",
		"2025-06-18-draft": "",
	} {
		if got := misspelled(version); got != want {
			t.Errorf("%q misspells %q, want %q", version, got, want)
		}
	}
}
