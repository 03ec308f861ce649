package check

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A literal with one fault is refused for it.
func TestValidateNamesWhatIsWrong(t *testing.T) {
	valid := Check{
		ID: "area.a", Says: "s", Level: spec.Must, In: spec.Every, On: transport.Any, Of: wire.Server,
		Rules: []string{"r"}, Idle: "i", Hint: "h", Probe: func(*T) {},
	}
	judge := func(c *Check) { c.Probe, c.Judge = nil, func(*J) {} }
	if err := valid.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, edits := range map[string][]func(c *Check){
		"no id or no text": {
			func(c *Check) { c.ID = "" }, func(c *Check) { c.Says = "" },
		},
		"no area":          {func(c *Check) { c.ID = "a" }},
		`level "MAY"`:      {func(c *Check) { c.Level = "MAY" }},
		"applies nowhere":  {func(c *Check) { c.In = 0 }, func(c *Check) { c.On = 0 }},
		"no role to judge": {func(c *Check) { c.Of = "" }},
		"needs a probe or a judge, not both": {
			func(c *Check) { c.Probe = nil }, func(c *Check) { c.Judge = func(*J) {} },
		},
		"a judge sends nothing": {
			func(c *Check) { judge(c); c.Session = OwnSession }, func(c *Check) { judge(c); c.Malforms = true },
		},
		"only a judge may need whole sessions": {func(c *Check) { c.Whole = true }},
		"claims rules":                         {func(c *Check) { c.Profile = "p" }},
		"does not say why": {
			func(c *Check) { c.Idle = "" }, func(c *Check) { c.Hint = "" },
		},
		"claims no rule":               {func(c *Check) { c.Rules = nil }},
		"no clause forbids":            {func(c *Check) { c.ChargedWith = "ping" }},
		"sections come from its rules": {func(c *Check) { c.Spec = "basic" }},
	} {
		for i, edit := range edits {
			c := valid
			edit(&c)
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d: %v", want, i, err)
			}
		}
	}
	for name, edit := range map[string]func(c *Check){
		"whole judge":             func(c *Check) { judge(c); c.Whole = true },
		"robust without a rule":   func(c *Check) { c.Level, c.Rules, c.Spec = spec.Robust, nil, "basic" },
		"of a profile":            func(c *Check) { c.Profile, c.Rules, c.Spec = "p", nil, "contract" },
		"charged with a method":   func(c *Check) { c.Level, c.ChargedWith = spec.Robust, "ping" },
		"of a client, should":     func(c *Check) { judge(c); c.Of, c.Level = wire.Client, spec.Should },
		"malforms in own session": func(c *Check) { c.Malforms, c.Session = true, OwnSession },
	} {
		c := valid
		if edit(&c); c.Validate() != nil {
			t.Errorf("%s: %v", name, c.Validate())
		}
	}
}
