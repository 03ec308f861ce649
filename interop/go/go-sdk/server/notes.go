package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	indexURI = "notes://index"
	noteURI  = "notes://note/"
)

var (
	mu    sync.Mutex // guards notes: handlers run concurrently
	notes = map[string]string{
		"groceries": "Milk, eggs and flour.",
		"travel":    "The train leaves at nine. Pack the blue bag.",
		"ideas":     "Write a shorter readme.",
	}
)

func names(prefix string) []string {
	mu.Lock()
	defer mu.Unlock()
	all := slices.Sorted(maps.Keys(notes))
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

func note(name string) string {
	mu.Lock()
	defer mu.Unlock()
	return notes[name]
}

func text(line string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: line}}}
}

type searchArgs struct {
	Phrase string `json:"phrase" jsonschema:"text to look for, case-insensitive"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many notes to return at most"`
}

func searchNotes(_ context.Context, _ *mcp.CallToolRequest, args searchArgs) (*mcp.CallToolResult, any, error) {
	var found []string
	for _, name := range names("") {
		if strings.Contains(strings.ToLower(note(name)), strings.ToLower(args.Phrase)) {
			found = append(found, name+": "+note(name))
		}
	}
	if args.Limit > 0 && len(found) > args.Limit {
		found = found[:args.Limit]
	}
	if len(found) == 0 {
		found = append(found, "nothing found")
	}
	return text(strings.Join(found, "\n")), nil, nil
}

type count struct {
	Notes int `json:"notes"`
	Words int `json:"words"`
}

func countWords(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, count, error) {
	mu.Lock()
	defer mu.Unlock()
	c := count{Notes: len(notes)}
	for _, text := range notes {
		c.Words += len(strings.Fields(text))
	}
	return nil, c, nil
}

func checkSpelling(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	all := names("")
	for i, name := range all {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		say(ctx, req, "debug", "checked "+name)
		if token := req.Params.GetProgressToken(); token != nil {
			req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token,
				Progress:      float64(i + 1),
				Total:         float64(len(all)),
			})
		}
	}
	say(ctx, req, "warning", "the dictionary is small")
	return text("no mistakes"), nil, nil
}

func say(ctx context.Context, req *mcp.CallToolRequest, level mcp.LoggingLevel, line string) {
	req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "notes", Data: line})
}

type addArgs struct {
	Name string `json:"name" jsonschema:"name of the note"`
	Text string `json:"text"`
}

func addNote(server *mcp.Server) mcp.ToolHandlerFor[addArgs, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, args addArgs) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		notes[args.Name] = args.Text
		mu.Unlock()
		server.AddResource(resource(args.Name), readNote)
		server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: indexURI})
		say(ctx, req, "info", "added "+args.Name)
		return text("added " + args.Name), nil, nil
	}
}

type named struct {
	Name string `json:"name" jsonschema:"name of the note"`
}

func deleteNote(server *mcp.Server) mcp.ToolHandlerFor[named, any] {
	return func(ctx context.Context, _ *mcp.CallToolRequest, args named) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		_, ok := notes[args.Name]
		delete(notes, args.Name)
		mu.Unlock()
		if !ok {
			return nil, nil, fmt.Errorf("there is no note named %q", args.Name)
		}
		server.RemoveResources(noteURI + args.Name)
		server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: indexURI})
		return text("deleted " + args.Name), nil, nil
	}
}

func resource(name string) *mcp.Resource {
	return &mcp.Resource{Name: name, URI: noteURI + name, MIMEType: "text/plain"}
}

func readNote(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	text := strings.Join(names(""), "\n")
	if name, ok := strings.CutPrefix(uri, noteURI); ok {
		mu.Lock()
		text, ok = notes[name]
		mu.Unlock()
		if !ok {
			return nil, mcp.ResourceNotFoundError(uri)
		}
	}
	return &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}},
	}, nil
}

func summarize(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := "Summarize this note: " + note(req.Params.Arguments["name"])
	return &mcp.GetPromptResult{
		Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := names(req.Params.Argument.Value)
	return &mcp.CompleteResult{
		Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)},
	}, nil
}
