package resources

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// probes are the probes of server/resources. The shape of what is listed
// and read is judged in every session.
func probes() []check.Check {
	return slices.Concat(resourcesListing(), resourcesReading(), resourcesMissing())
}

func resourcesListing() []check.Check {
	return []check.Check{
		{
			ID:    "resources.capability.declared",
			Says:  "a server that lists resources or templates declares the capability resources",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-capability-declared"},
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.ResourcesList, offer.TemplatesList) },
		},
		{
			ID:    "resources.list.answered",
			Says:  "resources/list is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-list-answered"},
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.ResourcesList) },
		},
		{
			ID:    "resources.list.everywhere",
			Says:  "the same resources are listed on every connection, whatever else was asked there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-list-not-per-connection"},
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.ResourcesList) },
		},
	}
}

func resourcesReading() []check.Check {
	return []check.Check{
		{
			ID:    "resources.listed.readable",
			Says:  "a resource that is listed can be read",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-listed-readable"},
			Probe: listedReadable,
		},
		{
			ID:    "resources.size.bytes",
			Says:  "the size of a resource is the number of its bytes",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-size-bytes"},
			Probe: sizeInBytes,
		},
		{
			ID:    "resources.template.uniform",
			Says:  "a template that names a media type is one whose resources all have it",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-template-mime-type-uniform"},
			Probe: templateUniform,
		},
	}
}

func resourcesMissing() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.not-found",
			Says:  "reading a resource that does not exist is answered with error -32602",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-not-found-32602"},
			Probe: readMissing,
		},
		{
			ID:    "resources.read.not-found.advised",
			Says:  "reading a resource that does not exist is answered with error -32002",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources",
			Rules: []string{"resources-not-found-code"},
			Probe: readMissing,
		},
		{
			ID:    "resources.read.not-found.empty",
			Says:  "reading a resource that does not exist is not answered with empty contents",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-not-found-no-empty-contents"},
			Probe: readMissingEmpty,
		},
		{
			ID:       "resources.read.uri.missing",
			Says:     "resources/read without uri is answered with error -32602",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_11_25),
			Needs:    "resources",
			Malforms: true,
			Rules:    []string{"resources-read-missing-uri-32602"},
			Probe:    readNothing,
		},
		{
			ID:       "resources.read.uri.survived",
			Says:     "reading what is no URI is answered, and the server goes on",
			Level:    spec.Robust,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Spec:     "server/resources#security-considerations",
			Probe:    urisSurvived,
		},
		{
			ID:       "resources.read.uri.validated",
			Says:     "nothing is read under what is no URI",
			Level:    spec.Must,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Rules:    []string{"resources-validate-uris"},
			Probe:    urisValidated,
		},
		{
			ID:    "resources.read.path",
			Says:  "no path that leads out of what is offered is read under a file:// URI",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-path-traversal"},
			Probe: pathsSanitized,
		},
	}
}
