package fault

import (
	"context"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// resourceContents are the faults of #resource-contents.
func resourceContents() []Fault {
	return []Fault{
		{
			Name: "contents-object", Does: "reads a resource as one object where an array belongs",
			CaughtBy: []string{"resources.read.array"},
			Apply: onResult("resources/read", func(o server.Object) {
				if list, ok := o["contents"].([]any); ok && len(list) > 0 {
					o["contents"] = list[0]
				}
			}),
		},
		{
			Name: "contents-without-uri", Does: "does not name what was read",
			CaughtBy: []string{"resources.contents.fields"},
			Apply:    onRead(hoursURI, func(item server.Object) { delete(item, "uri") }),
		},
		{
			Name: "contents-mime-null", Does: "gives what was read the mimeType null",
			CaughtBy: []string{"resources.contents.fields"},
			Apply:    onRead(hoursURI, func(item server.Object) { item["mimeType"] = nil }),
		},
		{
			Name: "contents-under-data", Does: "puts what was read into a member data",
			CaughtBy: []string{"resources.contents.either"},
			Apply: onRead(hoursURI, func(item server.Object) {
				item["data"] = item["text"]
				delete(item, "text")
			}),
		},
		{
			Name: "picture-as-text", Does: "reads a picture as text",
			CaughtBy: []string{"resources.contents.text"},
			Apply: onRead(coverURI, func(item server.Object) {
				item["text"] = strings.ToValidUTF8(string(bytesOf(item)), "?")
				delete(item, "blob")
			}),
		},
		{
			Name: "blob-as-data-uri", Does: "reads a picture as a data: URI",
			CaughtBy: []string{"resources.contents.base64"},
			Apply:    onRead(coverURI, func(item server.Object) { item["blob"] = "data:image/png;base64," + item["blob"].(string) }),
		},
		{
			Name: "blob-encoded-twice", Does: "encodes a picture twice",
			CaughtBy: []string{"resources.contents.bytes"},
			Apply: onRead(coverURI, func(item server.Object) {
				item["blob"] = base64.StdEncoding.EncodeToString([]byte(item["blob"].(string)))
			}),
		},
		{
			Name: "blob-through-text", Does: "takes a picture for text before it encodes it",
			CaughtBy: []string{"resources.contents.bytes"},
			Apply: onRead(coverURI, func(item server.Object) {
				item["blob"] = base64.StdEncoding.EncodeToString([]byte(strings.ToValidUTF8(string(bytesOf(item)), "\uFFFD")))
			}),
		},
	}
}

func bytesOf(item server.Object) []byte {
	data, err := base64.StdEncoding.DecodeString(item["blob"].(string))
	if err != nil {
		panic("fault: the honest server sent " + err.Error())
	}
	return data
}

// resourceReads are the faults of #reading-resources, #error-handling and
// #security-considerations.
func resourceReads() []Fault {
	code := func(code int) apply {
		return onError("resources/read", func(_ *server.Request, e *server.Error) (any, *server.Error) {
			if unknownResource(e) {
				e.Code = code
			}
			return nil, e
		})
	}
	return []Fault{
		{
			Name: "listed-unreadable", Does: "answers the reading of a resource that it lists with an error",
			CaughtBy: []string{"resources.listed.readable"},
			Apply:    shelvesLocked(spec.InternalError),
		},
		{
			Name: "listed-unreadable-code", Does: "answers the reading of a resource that it lists with the code 0",
			CaughtBy: []string{"resources.read.failure"},
			Also:     map[string]string{"resources.listed.readable": "only what cannot be read has such an error"},
			Apply:    shelvesLocked(0),
		},
		{
			Name: "not-found-retired-code", Does: "answers for a resource that does not exist with the code of earlier revisions",
			CaughtBy: []string{"resources.read.not-found"},
			Also:     map[string]string{"jsonrpc.code.retired": "the code is retired for whatever it would be used"},
			Apply:    code(spec.LegacyResourceNotFound),
		},
		{
			Name: "not-found-invalid-params", Does: "answers for a resource that does not exist with -32602 before that is its code",
			CaughtBy: []string{"resources.read.not-found.advised"},
			Apply:    code(spec.InvalidParams),
		},
		{
			Name: "not-found-internal-error", Does: "answers for a resource that does not exist with error -32603",
			CaughtBy: []string{"resources.read.not-found", "resources.read.not-found.advised"},
			Apply:    code(spec.InternalError),
		},
		{
			Name: "not-found-empty", Does: "reads a resource that does not exist as one without contents",
			CaughtBy: []string{"resources.read.not-found.empty"},
			Apply:    emptyNotFound,
		},
		{
			Name: "not-found-empty-early", Does: "reads a resource that does not exist as one without contents, in earlier revisions",
			CaughtBy: []string{"resources.read.not-found.advised"},
			Apply:    emptyNotFound,
		},
		{
			Name: "uri-missing-internal-error", Does: "answers resources/read without uri with error -32603",
			CaughtBy: []string{"resources.read.uri.missing"},
			Apply: onError("resources/read", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if r.Params["uri"] == nil {
					e.Code = spec.InternalError
				}
				return nil, e
			}),
		},
		{
			Name: "uri-missing-read", Does: "reads something where resources/read has no uri",
			CaughtBy: []string{"jsonrpc.params.invalid"},
			Apply: onRequest("resources/read", func(r *server.Request) {
				if r.Params["uri"] == nil {
					r.Params["uri"] = hoursURI
				}
			}),
		},
		{
			Name: "any-text-read", Does: "reads something for what is no URI",
			CaughtBy: []string{"resources.read.uri.validated"},
			Apply: onRequest("resources/read", func(r *server.Request) {
				if uri, ok := r.Params["uri"].(string); ok && !strings.Contains(uri, ":") {
					r.Params["uri"] = hoursURI
				}
			}),
		},
		{
			Name: "odd-uri-swallowed", Does: "does not answer the reading of what has control characters",
			CaughtBy: []string{"resources.read.uri.survived"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if f.Request != nil && f.Kind == wire.Error {
						if uri, ok := f.Request.Params["uri"].(string); ok && strings.ContainsAny(uri, "\x01\x7f") {
							return
						}
					}
					next(f)
				}
			}),
		},
		{
			Name: "path-unsanitized", Does: "reads any file whose path begins with that of the files that it offers",
			CaughtBy: []string{"resources.read.path"},
			Apply:    pathUnsanitized,
		},
	}
}

// shelvesLocked answers the reading of the shelves with an error.
func shelvesLocked(code int) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "resources/read" && r.Params["uri"] == "library://shelves" {
				return nil, &server.Error{Code: code, Message: "The shelves are locked"}
			}
			return next(ctx, r)
		}
	})
}

// emptyNotFound reads what does not exist as a resource without contents.
func emptyNotFound(o *server.Options) {
	onError("resources/read", func(_ *server.Request, e *server.Error) (any, *server.Error) {
		if unknownResource(e) {
			return complete(server.Object{"contents": []any{}, "ttlMs": 5000, "cacheScope": "private"}), nil
		}
		return nil, e
	})(o)
}

// pathUnsanitized offers the file of the running program, and looks only at the
// beginning of a path before it reads one.
func pathUnsanitized(o *server.Options) {
	program, err := os.Executable()
	if err != nil {
		panic("fault: " + err.Error())
	}
	uri := (&url.URL{Scheme: "file", Path: filepath.ToSlash(program)}).String()
	folder := uri[:strings.LastIndex(uri, "/")+1]
	o.Library = func(l *server.Library) {
		l.Resources = append(l.Resources, &server.Resource{URI: uri, Name: "program", Read: func(r *server.Reading) []server.Object {
			return []server.Object{{"uri": r.URI, "text": "The program of the desk."}}
		}})
		l.Templates = append(l.Templates, &server.Template{URI: folder + "{+file}", Name: "files", Read: func(r *server.Reading) []server.Object {
			u, err := url.Parse(r.URI)
			if err != nil {
				return nil
			}
			text, err := os.ReadFile(filepath.Clean(filepath.FromSlash(u.Path)))
			if err != nil {
				return nil
			}
			return []server.Object{{"uri": r.URI, "text": string(text)}}
		}})
	}
}
