// Command server is a small notes server on the Go SDK, over stdio, or with
// -http ADDRESS over streamable HTTP at /mcp and HTTP+SSE at /sse.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	address := flag.String("http", "", "serve over HTTP at this address")
	var o mcp.StreamableHTTPOptions
	flag.BoolVar(&o.Stateless, "stateless", false, "keep no sessions")
	flag.BoolVar(&o.JSONResponse, "json", false, "answer with JSON rather than event streams")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "v1.0.0"}, &mcp.ServerOptions{
		PageSize:           3,
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{
		Name: "search_notes", Description: "Find the notes whose text holds a phrase", Annotations: readOnly,
	}, searchNotes)
	mcp.AddTool(server, &mcp.Tool{
		Name: "count_words", Description: "Count the words of all notes", Annotations: readOnly,
	}, countWords)
	mcp.AddTool(server, &mcp.Tool{
		Name: "check_spelling", Description: "Check the spelling of all notes", Annotations: readOnly,
	}, checkSpelling)
	mcp.AddTool(server, &mcp.Tool{
		Name: "summarize_note", Description: "Summarize a note with the client's model", Annotations: readOnly,
	}, summarizeNote)
	mcp.AddTool(server, &mcp.Tool{
		Name: "pick_note", Description: "Show the note that the user picks", Annotations: readOnly,
	}, pickNote)
	mcp.AddTool(server, &mcp.Tool{
		Name: "list_folders", Description: "List the folders that the client works in", Annotations: readOnly,
	}, listFolders)
	mcp.AddTool(server, &mcp.Tool{Name: "add_note", Description: "Add a note, or change its text"}, addNote(server))
	mcp.AddTool(server, &mcp.Tool{Name: "delete_note", Description: "Delete a note by its name"}, deleteNote(server))
	server.AddResource(&mcp.Resource{Name: "index", URI: indexURI, MIMEType: "text/plain"}, readNote)
	for _, name := range names("") {
		server.AddResource(resource(name), readNote)
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "note", URITemplate: noteURI + "{name}", MIMEType: "text/plain",
	}, readNote)
	server.AddPrompt(&mcp.Prompt{
		Name:        "summarize",
		Description: "Ask for a summary of one note",
		Arguments:   []*mcp.PromptArgument{{Name: "name", Description: "name of the note", Required: true}},
	}, summarize)
	if *address != "" {
		one := func(*http.Request) *mcp.Server { return server }
		http.Handle("/mcp", mcp.NewStreamableHTTPHandler(one, &o))
		http.Handle("/sse", mcp.NewSSEHandler(one, nil))
		log.Fatal(http.ListenAndServe(*address, nil))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// What a tool needs of the client it asks for in its result: the SDK sends a
// request of its own to a client that knows no such results.

func summarizeNote(_ context.Context, req *mcp.CallToolRequest, args named) (*mcp.CallToolResult, any, error) {
	answer, ok := req.Params.InputResponses["summary"].(*mcp.CreateMessageWithToolsResult)
	if !ok {
		ask := &mcp.CreateMessageParams{
			MaxTokens: 100,
			Messages: []*mcp.SamplingMessage{{
				Role: "user", Content: &mcp.TextContent{Text: "Summarize: " + note(args.Name)},
			}},
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"summary": ask}}, nil, nil
	}
	return &mcp.CallToolResult{Content: answer.Content}, nil, nil
}

func pickNote(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	answer, ok := req.Params.InputResponses["note"].(*mcp.ElicitResult)
	if !ok {
		ask := &mcp.ElicitParams{
			Message: "Which note?",
			RequestedSchema: &jsonschema.Schema{
				Type:       "object",
				Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}},
				Required:   []string{"name"},
			},
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"note": ask}}, nil, nil
	}
	name, _ := answer.Content["name"].(string)
	return text(note(name)), nil, nil
}

func listFolders(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	answer, ok := req.Params.InputResponses["folders"].(*mcp.ListRootsResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"folders": &mcp.ListRootsParams{}}}, nil, nil
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{}}
	for _, root := range answer.Roots {
		result.Content = append(result.Content, &mcp.TextContent{Text: root.URI})
	}
	return result, nil, nil
}
