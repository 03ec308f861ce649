// Package ginkgo is a Ginkgo suite of a user that holds the checks of mcpcheck.
package ginkgo

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/interop/embed"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/ginkgosuite"
)

func TestSuite(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "a suite of a user")
}

var _ = Describe("something of the user's own", func() {
	It("runs beside the checks", func() { Expect(1 + 1).To(Equal(2)) })
})

var _ = ginkgosuite.Describe(suites.InProcess(embed.Serve), suites.Only("ping", "pagination", "prompts"))
