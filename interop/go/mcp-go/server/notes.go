package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
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

func searchNotes(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	phrase, err := req.RequireString("phrase")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	limit := req.GetInt("limit", 10)
	var found []string
	for _, name := range names("") {
		if len(found) < limit && strings.Contains(strings.ToLower(note(name)), strings.ToLower(phrase)) {
			found = append(found, name+": "+note(name))
		}
	}
	if len(found) == 0 {
		found = append(found, "nothing found")
	}
	return mcp.NewToolResultText(strings.Join(found, "\n")), nil
}

type count struct {
	Notes int `json:"notes"`
	Words int `json:"words"`
}

func countWords(context.Context, mcp.CallToolRequest, struct{}) (count, error) {
	mu.Lock()
	defer mu.Unlock()
	c := count{Notes: len(notes)}
	for _, text := range notes {
		c.Words += len(strings.Fields(text))
	}
	return c, nil
}

func checkSpelling(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	all := names("")
	for i, name := range all {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		say(ctx, mcp.LoggingLevelDebug, "checked "+name)
		if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
			server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": meta.ProgressToken,
				"progress":      i + 1,
				"total":         len(all),
			})
		}
	}
	say(ctx, mcp.LoggingLevelWarning, "the dictionary is small")
	return mcp.NewToolResultText("no mistakes"), nil
}

func say(ctx context.Context, level mcp.LoggingLevel, line string) {
	server.ServerFromContext(ctx).SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(level, "notes", line))
}

func addNote(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := req.RequireString("name")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	text, err := req.RequireString("text")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	mu.Lock()
	notes[name] = text
	mu.Unlock()
	server.ServerFromContext(ctx).AddResource(resource(name), readNote)
	say(ctx, mcp.LoggingLevelInfo, "added "+name)
	return mcp.NewToolResultText("added " + name), nil
}

func deleteNote(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := req.RequireString("name")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	mu.Lock()
	_, ok := notes[name]
	delete(notes, name)
	mu.Unlock()
	if !ok {
		return mcp.NewToolResultError(fmt.Sprintf("there is no note named %q", name)), nil
	}
	server.ServerFromContext(ctx).DeleteResources(noteURI + name)
	return mcp.NewToolResultText("deleted " + name), nil
}

func resource(name string) mcp.Resource {
	return mcp.NewResource(noteURI+name, name, mcp.WithMIMEType("text/plain"))
}

func readNote(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	text := strings.Join(names(""), "\n")
	if name, ok := strings.CutPrefix(req.Params.URI, noteURI); ok {
		mu.Lock()
		text, ok = notes[name]
		mu.Unlock()
		if !ok {
			return nil, fmt.Errorf("there is no note named %q", name)
		}
	}
	return []mcp.ResourceContents{
		mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: text},
	}, nil
}

func summarize(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := "Summarize this note: " + note(req.Params.Arguments["name"])
	return mcp.NewGetPromptResult("A summary of one note", []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text)),
	}), nil
}

// A completer completes the name of a note, which is what the prompt and the
// template take.
type completer struct{}

func (completer) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument,
	_ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: names(argument.Value)}, nil
}

func (completer) CompleteResourceArgument(_ context.Context, _ string, argument mcp.CompleteArgument,
	_ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: names(argument.Value)}, nil
}
