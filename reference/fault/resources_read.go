package fault

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onRead changes the contents of a resource.
func onRead(uri string, edit func(item server.Object)) apply {
	return onResultWhen(isRead(uri), func(_ *server.Request, result server.Object) {
		for _, item := range result["contents"].([]any) {
			edit(item.(server.Object))
		}
	})
}

// resourceContents are the faults of #resource-contents.
func resourceContents() []Fault {
	return []Fault{
		{
			Name: "contents-object", Does: "writes the contents of a resource as an object",
			CaughtBy: []string{"resources.read.array"},
			Apply: onResult("resources/read", func(o server.Object) {
				if list, ok := o["contents"].([]any); ok && len(list) > 0 {
					o["contents"] = list[0]
				}
			}),
		},
		{
			Name: "contents-without-uri", Does: "leaves the URI out of the contents of a resource",
			CaughtBy: []string{"resources.contents.fields"},
			Apply:    onRead(hoursURI, remove("uri")),
		},
		{
			Name: "contents-mime-null", Does: "writes the mimeType of the contents of a resource as null",
			CaughtBy: []string{"resources.contents.fields"},
			Apply:    onRead(hoursURI, set("mimeType", nil)),
		},
		{
			Name: "contents-under-data", Does: "writes the text of a resource in a member data",
			CaughtBy: []string{"resources.contents.either"},
			Apply:    onRead(hoursURI, rename("text", "data")),
		},
		{
			Name: "picture-as-text", Does: "returns an image as text",
			CaughtBy: []string{"resources.contents.text"},
			Apply: onRead(coverURI, func(item server.Object) {
				item["text"] = strings.ToValidUTF8(string(blobOf(item)), "?")
				delete(item, "blob")
			}),
		},
		{
			Name: "blob-as-data-uri", Does: "returns an image as a data: URI",
			CaughtBy: []string{"resources.contents.base64"},
			Apply: onRead(coverURI,
				func(item server.Object) { item["blob"] = "data:image/png;base64," + item["blob"].(string) }),
		},
		{
			Name: "blob-encoded-twice", Does: "encodes an image twice",
			CaughtBy: []string{"resources.contents.bytes"},
			Apply: onRead(coverURI, func(item server.Object) {
				item["blob"] = base64.StdEncoding.EncodeToString([]byte(item["blob"].(string)))
			}),
		},
		{
			Name: "blob-through-text", Does: "converts an image to text before it encodes it",
			CaughtBy: []string{"resources.contents.bytes"},
			Apply: onRead(coverURI, func(item server.Object) {
				item["blob"] = base64.StdEncoding.EncodeToString([]byte(strings.ToValidUTF8(string(blobOf(item)),
					"\uFFFD")))
			}),
		},
	}
}

// blobOf returns the decoded blob of the contents of a resource.
func blobOf(item server.Object) []byte {
	data, err := base64.StdEncoding.DecodeString(item["blob"].(string))
	if err != nil {
		panic("fault: a blob of the server: " + err.Error())
	}
	return data
}

// resourceReads are the faults of #reading-resources and #error-handling.
func resourceReads() []Fault {
	notFound := hasMessage("Resource not found")
	withoutContents := errorToResult("resources/read", notFound,
		succeedWith(server.Object{"contents": []any{}, "ttlMs": 5000, "cacheScope": "private"}))
	return []Fault{
		{
			Name: "listed-unreadable", Does: "answers the read of a listed resource with error -32603",
			CaughtBy: []string{"resources.listed.readable"},
			Apply: answerWhen(isRead("library://shelves"),
				failWith(spec.InternalError, "The resource cannot be read")),
		},
		{
			Name: "not-found-retired-code", Does: "answers for an unknown resource with the code of earlier revisions",
			CaughtBy: []string{"resources.read.not-found"},
			Also:     map[string]string{"jsonrpc.code.retired": "the code is retired for every use"},
			Apply:    recode("resources/read", notFound, spec.LegacyResourceNotFound),
		},
		{
			Name:     "not-found-invalid-params",
			Does:     "answers for an unknown resource with error -32602, the code of later revisions",
			CaughtBy: []string{"resources.read.not-found.advised"},
			Apply:    recode("resources/read", notFound, spec.InvalidParams),
		},
		{
			Name: "not-found-internal-error", Does: "answers for an unknown resource with error -32603",
			CaughtBy: []string{"resources.read.not-found", "resources.read.not-found.advised"},
			Apply:    recode("resources/read", notFound, spec.InternalError),
		},
		{
			Name: "not-found-empty", Does: "reads an unknown resource as one without contents",
			CaughtBy: []string{"resources.read.not-found.empty"},
			Apply:    withoutContents,
		},
		{
			Name:     "not-found-empty-early",
			Does:     "reads an unknown resource as one without contents, in earlier revisions",
			CaughtBy: []string{"resources.read.not-found.advised"},
			Apply:    withoutContents,
		},
	}
}

// invalidURIs are faults of #error-handling and #security-considerations in how reads
// of missing, invalid and unsafe URIs are answered.
func invalidURIs() []Fault {
	withoutURI := func(r *server.Request, _ *server.Error) bool { return r.Params["uri"] == nil }
	return []Fault{
		{
			Name: "uri-missing-internal-error", Does: "answers resources/read without uri with error -32603",
			CaughtBy: []string{"resources.read.uri.missing"},
			Apply:    recode("resources/read", withoutURI, spec.InternalError),
		},
		{
			Name: "non-uri-internal-error", Does: "answers the read of a text that is not a URI with error -32603",
			CaughtBy: []string{"resources.read.uri.code"},
			Apply: recode("resources/read", func(r *server.Request, e *server.Error) bool {
				return strings.HasSuffix(e.Message, "is no usable URI") && r.Params["uri"] != nil
			}, spec.InternalError),
		},
		{
			Name: "any-text-read", Does: "reads a resource for a text that is not a URI",
			CaughtBy: []string{"resources.read.uri.validated"},
			Apply: onRequest("resources/read", func(r *server.Request) {
				if uri, ok := r.Params["uri"].(string); ok && !strings.Contains(uri, ":") {
					r.Params["uri"] = hoursURI
				}
			}),
		},
		{
			Name: "odd-uri-unanswered", Does: "does not answer the read of a URI with control characters",
			CaughtBy: []string{"resources.read.uri.survived"},
			Apply: withhold(isErrorWhen(func(r *server.Request) bool {
				return strings.ContainsAny(asText(r.Params["uri"]), "\x01\x7f")
			})),
		},
		{
			Name: "path-unsanitized", Does: "reads every file whose path begins like that of the files that it offers",
			CaughtBy: []string{"resources.read.path"},
			Apply:    readAnyFile,
		},
	}
}

// resourcesHTTP are faults of resources over streamable HTTP.
func resourcesHTTP() []Fault {
	return []Fault{
		{
			Name:     "http-path-unsanitized",
			Does:     "reads every file whose path begins like that of the files that it offers",
			CaughtBy: []string{"resources.read.path"},
			Apply:    readAnyFile,
		},
		{
			Name:     "odd-uri-ends-session",
			Does:     "answers the read of a URI with control characters with error -32603 and ends the session",
			In:       spec.Handshake & spec.Since(spec.V2025_03_26),
			CaughtBy: []string{"resources.read.uri.survived"},
			Apply:    onHTTP(endSessionsAtOddURIs),
		},
	}
}

// endSessionsAtOddURIs forgets a session when it answers the read of a URI with control
// characters, as a gateway does whose server ended.
func endSessionsAtOddURIs(next http.Handler) http.Handler {
	var ended sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionField)
		if _, ok := ended.Load(id); ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			writeTo(w, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"No such session"}}`))
			return
		}
		m, ok := posted(r)
		if !ok || m.Method() != "resources/read" ||
			!strings.ContainsAny(m.Get("params.uri").String(), "\x01\x7f") {
			next.ServeHTTP(w, r)
			return
		}
		ended.Store(id, true)
		w.Header().Set("Content-Type", "application/json")
		writeTo(w, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"The server ended"}}`,
			m.ID().Raw, spec.InternalError))
	})
}

// readAnyFile offers the files of a folder, and compares only the beginning of a
// path before it reads a file.
//
// The folder is that of the null device: every machine has it, and it does not
// hold the directory for temporary files, in which probes put the file that must
// not be read.
func readAnyFile(o *server.Options) {
	fileURI := func(p string) string { return (&url.URL{Scheme: "file", Path: filepath.ToSlash(p)}).String() }
	read := func(r *server.ResourceRead) []server.Object {
		u, err := url.Parse(r.URI)
		if err != nil {
			return nil
		}
		text, err := os.ReadFile(filepath.Clean(filepath.FromSlash(u.Path)))
		if err != nil {
			return nil
		}
		return []server.Object{{"uri": r.URI, "text": string(text)}}
	}
	onLibrary(func(l *server.Features) {
		l.Resources = append(l.Resources, &server.Resource{URI: fileURI(os.DevNull), Name: "null-device", Read: read})
		l.Templates = append(l.Templates,
			&server.Template{URI: fileURI(path.Dir(os.DevNull)) + "/{+file}", Name: "files", Read: read})
	})(o)
}
