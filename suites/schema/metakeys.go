package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// A metaKey is a key of _meta with its parts: the prefix ends at the first slash.
type metaKey struct {
	in        transcript.Member // the _meta that has the key
	key       string
	hasPrefix bool
	labels    []string
	name      string
}

// parseMetaKey returns the parts of a key.
func parseMetaKey(key string) metaKey {
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		return metaKey{key: key, name: key}
	}
	return metaKey{key: key, hasPrefix: true, labels: strings.Split(prefix, "."), name: name}
}

// fail fails the check of a judge, with what is wrong with the key.
func (k metaKey) fail(j *check.J, format string, args ...any) {
	j.Fail(k.in.Entry, "%s: %s: the key %q %s", k.in.Name, k.in.Path, wire.Clip(k.key, 80),
		fmt.Sprintf(format, args...))
}

// prefix returns the prefix without the slash.
func (k metaKey) prefix() string { return strings.Join(k.labels, ".") }

// isValid reports whether the key has a prefix that follows the grammar.
func (k metaKey) isValid() bool {
	return k.hasPrefix && !slices.ContainsFunc(k.labels, func(l string) bool { return !metaLabel.MatchString(l) })
}

// isReserved reports whether a revision reserves the prefix for MCP: by its second
// label since 2025-11-25, before that by any label that another one follows.
func (k metaKey) isReserved(rev spec.Revision) bool {
	isOfMCP := func(label string) bool { return label == "mcp" || label == "modelcontextprotocol" }
	if !k.isValid() || len(k.labels) < 2 {
		return false
	}
	if spec.Since(spec.V2025_11_25).Has(rev) {
		return isOfMCP(k.labels[1])
	}
	return slices.ContainsFunc(k.labels[:len(k.labels)-1], isOfMCP)
}

var (
	// metaLabel matches a label of a prefix.
	metaLabel = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
	// metaName matches a name. Only a MAY describes the characters inside of a name.
	metaName = regexp.MustCompile(`^[A-Za-z0-9](.*[A-Za-z0-9])?$`)
)

// definedMeta are the keys with reserved prefixes that some revision defines, in
// schema.ts or in basic/utilities/tasks of 2025-11-25. A server of several eras may send
// them where they have no meaning.
var definedMeta = []string{
	spec.MetaProtocolVersion, spec.MetaClientInfo, spec.MetaClientCapabilities, spec.MetaLogLevel,
	spec.MetaServerInfo, spec.MetaSubscriptionID,
	"io.modelcontextprotocol/related-task", "io.modelcontextprotocol/model-immediate-response",
}

// officialPrefix is the prefix of keys that official extensions define (basic/index#meta,
// since 2026-07-28). Nothing on the wire shows whether one does.
const officialPrefix = "io.modelcontextprotocol"

// skillsPrefix is the prefix of the metadata that the skills extension has servers send
// with skill resources (SEP-2640, resource metadata).
const skillsPrefix = officialPrefix + ".skills"

// isNotReversed reports whether labels are certainly no reversed domain name: the first
// is no top-level domain, and the last is one or there is no other. If neither is known
// to be one, nothing is certain.
func isNotReversed(labels []string) bool {
	return !isTopLevelDomain(labels[0]) && (len(labels) == 1 || isTopLevelDomain(labels[len(labels)-1]))
}

// isTopLevelDomain reports whether a label may be a top-level domain: any label of two
// letters, which may be a country's, or a generic one in wide use.
func isTopLevelDomain(label string) bool {
	return len(label) == 2 || slices.Contains(genericDomains, strings.ToLower(label))
}

// genericDomains are top-level domains in wide use that are not of a country.
var genericDomains = []string{
	"com", "org", "net", "edu", "gov", "mil", "int", "arpa", "info", "biz", "name", "pro", "dev", "app", "page",
	"cloud", "tech", "tools", "software", "systems", "services", "solutions", "studio", "run", "sh", "xyz", "site",
	"online", "store", "shop", "blog", "news", "local", "internal", "google", "microsoft", "amazon", "aws", "apple",
	"bank", "health", "agency", "works", "zone", "world", "live", "link", "codes", "computer", "digital", "network",
	"email", "design", "group", "company", "team", "build", "chat", "bot",
}
