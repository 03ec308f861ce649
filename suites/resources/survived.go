package resources

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// survivalJudges returns the checks that report a server that ends on valid
// requests of a method, whatever check sends them.
func survivalJudges() []check.Check {
	return []check.Check{
		{
			ID: "resources.list.survived",
			Says: "the server answers resources/list and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "resources",
			Spec:        "server/resources#listing-resources",
			ChargedWith: "resources/list",
			Idle:        "no resources/list had a result",
			Hint:        "offer resources, and answer resources/list",
			Judge:       func(j *check.J) { transcript.SawResults(j, "resources/list") },
		},
		{
			ID: "resources.templates.survived",
			Says: "the server answers resources/templates/list and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "resources",
			Spec:        "server/resources#resource-templates",
			ChargedWith: "resources/templates/list",
			Idle:        "no resources/templates/list had a result",
			Hint:        "answer resources/templates/list with a result",
			Judge:       func(j *check.J) { transcript.SawResults(j, "resources/templates/list") },
		},
		{
			ID: "resources.read.survived",
			Says: "the server answers resources/read with a URI that it listed and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "resources",
			Spec:        "server/resources#reading-resources",
			ChargedWith: "resources/read",
			Idle:        "no resources/read had a result",
			Hint:        offerReadable,
			Judge:       func(j *check.J) { transcript.SawResults(j, "resources/read") },
		},
		{
			ID: "resources.subscribe.survived",
			Says: "the server answers resources/subscribe with a URI that it listed and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Handshake,
			Needs:       "resources.subscribe",
			Spec:        "server/resources#subscriptions",
			ChargedWith: "resources/subscribe",
			Idle:        "no resources/subscribe had a result",
			Hint:        "answer resources/subscribe for a listed resource with a result",
			Judge:       func(j *check.J) { transcript.SawResults(j, "resources/subscribe") },
		},
		{
			ID: "resources.unsubscribe.survived",
			Says: "the server answers resources/unsubscribe with a URI that it listed and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Handshake,
			Needs:       "resources.subscribe",
			Spec:        "server/resources#subscriptions",
			ChargedWith: "resources/unsubscribe",
			Idle:        "no resources/unsubscribe had a result",
			Hint:        "answer resources/unsubscribe for a listed resource with a result",
			Judge:       func(j *check.J) { transcript.SawResults(j, "resources/unsubscribe") },
		},
	}
}
