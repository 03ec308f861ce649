package authorization

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// The reasons why several checks are not observed, and what helps.
const (
	noOAuth       = "nothing shows that the server issues its tokens by OAuth"
	noMetadata    = "no protected resource metadata was found"
	deployedHint  = "judge the server at the URL where it is deployed"
	configuredFor = "the server is configured for another host than the loopback interface"

	giveToken       = `protect the server with tokens, and give a valid one: --header "Authorization: Bearer TOKEN"`
	giveSecondToken = `give a valid token of another user: authorization: {second: "${TOKEN}"} in --config`
	answer401       = "answer a request without a token with status 401 and WWW-Authenticate: Bearer"
	publishMetadata = "publish protected resource metadata (RFC 9728), if clients get tokens by OAuth"
)

// A resourceMetadata is the protected resource metadata of a server (RFC 9728).
type resourceMetadata struct {
	document  gjson.Result
	url       *url.URL // where it was found, nil if it was not
	named     string   // the URL that the challenge names, "" for none
	problem   string   // why no metadata was found at that URL, "" if it was
	elsewhere bool     // that URL is not on the host where the server is judged
	tried     []string // the URLs that were fetched
}

const resourceMetadataPath = "/.well-known/oauth-protected-resource"

var resourceMetadataKey = check.NewKey[*resourceMetadata]("protected resource metadata")

// metadataOf returns the protected resource metadata of a protected server.
func metadataOf(t *check.T) *resourceMetadata {
	requireProtected(t)
	return check.Once(t, resourceMetadataKey, func() *resourceMetadata {
		m := &resourceMetadata{}
		m.find(t)
		return m
	})
}

// requireMetadata returns the metadata; without it the body ends.
func requireMetadata(t *check.T) *resourceMetadata {
	m := metadataOf(t)
	if m.url == nil {
		t.NotObserved(noMetadata, publishMetadata)
	}
	return m
}

// find fetches the metadata from the URL that the challenge names, or else from the
// URLs of RFC 9728 section 3.1: with the path of the server, and at the root.
func (m *resourceMetadata) find(t *check.T) {
	if c := requireProtected(t).challenge(); c != nil {
		m.named = c.params["resource_metadata"]
	}
	if m.named != "" && m.findNamed(t) {
		return
	}
	path := strings.TrimSuffix(t.HTTP().URL().Path, "/")
	for _, suffix := range slices.Compact([]string{path, ""}) {
		if m.fetch(t, onHost(t, resourceMetadataPath+suffix)) {
			return
		}
	}
}

// findNamed fetches the metadata from the URL that the challenge names, if it may be
// fetched, and reports whether it is there.
func (m *resourceMetadata) findNamed(t *check.T) bool {
	at, err := t.HTTP().URL().Parse(m.named)
	m.elsewhere = err == nil && isElsewhere(t, at)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https":
		m.problem = "it is no URL of http or https"
	case m.elsewhere:
		m.problem = "that is not where the server is judged, and was not fetched"
	case !mayFetch(t, at):
		m.problem = "it is neither on the host of the server nor of https, and was not fetched"
	case m.fetch(t, at):
		return true
	default:
		m.problem = "no JSON object was found there"
	}
	return false
}

// fetch fetches the metadata from a URL and reports whether it is there.
func (m *resourceMetadata) fetch(t *check.T, at *url.URL) bool {
	m.tried = append(m.tried, at.String())
	document, ok := fetchDocument(t, at)
	if ok {
		m.document, m.url = document, at
	}
	return ok
}

// mayFetch reports whether a URL that the server names may be fetched: it is on the
// host of the server, or of https.
func mayFetch(t *check.T, at *url.URL) bool {
	return at.Host == t.HTTP().URL().Host || at.Scheme == "https" || check.IsLoopback(at) && onLoopback(t)
}

// isElsewhere reports whether a server that is judged on the loopback interface
// names a URL of another host: it is configured for where it will be deployed.
func isElsewhere(t *check.T, at *url.URL) bool { return onLoopback(t) && !check.IsLoopback(at) }

// requireOAuth ends the body if nothing of OAuth is found: no metadata, and a
// challenge without any parameter of OAuth. The server may issue its tokens in
// another way then (basic#auth).
func requireOAuth(t *check.T) {
	if metadataOf(t).url != nil {
		return
	}
	if c := requireProtected(t).challenge(); c != nil {
		for name := range c.params {
			if name != "realm" {
				return
			}
		}
	}
	t.NotObserved(noOAuth, publishMetadata)
}

// requireChallenge returns the challenge to an opening without a token; without it
// the body ends.
func requireChallenge(t *check.T) *challenge {
	a := requireProtected(t)
	c := a.challenge()
	if a.exchange.Status != http.StatusUnauthorized || c == nil {
		t.NotObserved("a request without a token is not answered with 401 and a challenge", answer401)
	}
	return c
}

// identifies reports whether a resource is the server: on its host, by any name of
// the loopback interface, with a path that holds that of the server. How much of its
// host belongs to the resource is for the server to say (RFC 9728 section 3.3).
func identifies(resource, server *url.URL) bool {
	sameHost := strings.EqualFold(resource.Host, server.Host) ||
		check.IsLoopback(resource) && check.IsLoopback(server) && resource.Port() == server.Port()
	path := strings.TrimSuffix(resource.Path, "/")
	samePath := server.Path == path || strings.HasPrefix(server.Path, path+"/")
	return sameHost && samePath && strings.EqualFold(resource.Scheme, server.Scheme)
}
