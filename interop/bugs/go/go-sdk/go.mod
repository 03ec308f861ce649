// The versions of the SDK are in versions.
module github.com/mcpcheck/mcpcheck/interop/bugs/go/go-sdk

go 1.23.0
