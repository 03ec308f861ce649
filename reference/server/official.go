package server

import (
	"context"
	"sync/atomic"
	"time"
)

// The public conformance contract: tools, resources, templates and prompts of fixed
// names and results, which its test suite looks for. The server offers them beside
// the library if Options.Official is set, in the revisions that can express them. A
// part of the contract that only one revision has is offered there only.

// defaultStepDelay is the default of Options.StepDelay.
const defaultStepDelay = 50 * time.Millisecond

// officialToolPageSize is the size of a page of tools: clients of the contract look
// for its tools on the first page.
const officialToolPageSize = 100

// officialPageSize is the size of a page of the other lists: small, so that the few
// skills have a second page.
const officialPageSize = 4

// stepsPerWatchedChange is the number of steps between two changes of the watched
// resource.
const stepsPerWatchedChange = 50

// officialFeatures are what the contract adds to a library, and their state.
type officialFeatures struct {
	stepDelay                time.Duration
	toolListed, promptListed atomic.Bool // whether the dynamic tool and prompt are listed
	watchedChanges           atomic.Int64
}

// addOfficial adds what the contract requires.
func (l *Features) addOfficial(stepDelay time.Duration) {
	if stepDelay == 0 {
		stepDelay = defaultStepDelay
	}
	o := &officialFeatures{stepDelay: stepDelay}
	l.official = o
	l.PageSize, l.toolPageSize = officialPageSize, officialToolPageSize
	l.Capabilities["extensions"] = Object{tasksExtension: Object{}, skillsExtension: Object{"directoryRead": true}}
	l.Tools = append(l.Tools, o.tools()...)
	l.Tools = append(l.Tools, officialInputTools()...)
	l.Tools = append(l.Tools, officialRoundTools()...)
	l.Tools = append(l.Tools, o.taskTools()...)
	l.Resources = append(l.Resources, o.resources()...)
	l.Templates = append(l.Templates, officialTemplate())
	l.Prompts = append(l.Prompts, o.prompts()...)
	l.Skills = officialSkills()
}

// waitSteps waits for a number of steps, or until the call ends.
func (o *officialFeatures) waitSteps(ctx context.Context, call *Call, steps int) {
	call.Yield()
	sleep(ctx, time.Duration(steps)*o.stepDelay)
}

// unannotatedImage returns an image without annotations.
func unannotatedImage() Object {
	return Object{"type": "image", "mimeType": "image/png", "data": encode64(coverPNG(1))}
}
