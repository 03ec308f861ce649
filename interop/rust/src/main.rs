//! A small notes server on rmcp, the Rust SDK, over stdio.
#![allow(deprecated)] // logging, sampling and roots are on their way out, but clients still use them

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::handler::server::{
    tool::InputResponses,
    wrapper::{Json, Parameters},
};
use rmcp::model::*;
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, elicit_safe};
use rmcp::{prompt, prompt_handler, prompt_router, tool, tool_handler, tool_router, transport::stdio};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast;

const NOTE: &str = "notes://note/";
const PAGE: usize = 2;

#[derive(Clone)]
struct Notes {
    notes: Arc<Mutex<BTreeMap<String, String>>>,
    level: Arc<Mutex<LoggingLevel>>,
    subscribed: Arc<Mutex<BTreeSet<String>>>,
    changed: broadcast::Sender<()>,
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// Text to look for, case-insensitive
    phrase: String,
    /// How many notes to return at most
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    notes: usize,
    words: usize,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Named {
    /// Name of the note
    name: String,
}

elicit_safe!(Named);

#[derive(Deserialize, JsonSchema)]
struct NewNote {
    name: String,
    text: String,
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn failed(text: impl ToString) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.to_string())])
}

#[tool_router]
impl Notes {
    fn new() -> Self {
        let notes = [
            ("groceries", "Milk, eggs and flour."),
            ("travel", "The train leaves at nine. Pack the blue bag."),
            ("ideas", "Write a shorter readme."),
        ];
        Self {
            notes: Arc::new(Mutex::new(notes.map(|(name, text)| (name.into(), text.into())).into())),
            level: Arc::new(Mutex::new(LoggingLevel::Info)),
            subscribed: Arc::default(),
            changed: broadcast::Sender::new(16),
        }
    }

    #[tool(description = "Find the notes whose text holds a phrase", annotations(read_only_hint = true))]
    fn search_notes(&self, Parameters(Search { phrase, limit }): Parameters<Search>) -> String {
        let (notes, phrase) = (self.notes.lock().unwrap(), phrase.to_lowercase());
        let found = notes.iter().filter(|(_, text)| text.to_lowercase().contains(&phrase));
        let lines: Vec<_> =
            found.take(limit.unwrap_or(10) as usize).map(|(name, text)| format!("{name}: {text}")).collect();
        if lines.is_empty() { "nothing found".into() } else { lines.join("\n") }
    }

    #[tool(description = "Count the words of all notes", annotations(read_only_hint = true))]
    fn count_words(&self) -> Json<Count> {
        let notes = self.notes.lock().unwrap();
        Json(Count { notes: notes.len(), words: notes.values().map(|text| text.split_whitespace().count()).sum() })
    }

    #[tool(description = "Check the spelling of all notes", annotations(read_only_hint = true))]
    async fn check_spelling(&self, context: RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
        let notes = self.notes.lock().unwrap().clone();
        for (i, name) in notes.keys().enumerate() {
            tokio::select! {
                () = context.ct.cancelled() => return Ok(failed("cancelled")),
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
            }
            self.log(&context, LoggingLevel::Debug, &format!("checked {name}")).await;
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, (i + 1) as f64).with_total(notes.len() as f64);
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        self.log(&context, LoggingLevel::Warning, "the dictionary is small").await;
        Ok(text("no mistakes"))
    }

    #[tool(description = "Summarize a note with the client's model", annotations(read_only_hint = true))]
    async fn summarize_note(
        &self,
        Parameters(Named { name }): Parameters<Named>,
        responses: InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(note) = self.notes.lock().unwrap().get(&name).cloned() else {
            return Ok(failed(format!("there is no note named {name}")).into());
        };
        let ask = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(format!("Summarize: {note}"))], 100);
        let answer = if modern(&context) {
            match answered::<CreateMessageResult>(&responses, "summary")? {
                None => {
                    return Ok(required("summary", InputRequest::CreateMessage(CreateMessageRequest::new(ask))));
                }
                Some(answer) => Ok(answer),
            }
        } else {
            context.peer.create_message(ask).await
        };
        Ok(match answer {
            Ok(answer) => text(serde_json::to_string(&answer.message.content).unwrap_or_default()).into(),
            Err(error) => failed(error).into(),
        })
    }

    #[tool(description = "Show the note that the user picks", annotations(read_only_hint = true))]
    async fn pick_note(
        &self,
        responses: InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let message = "Which note?";
        let picked: Option<Named> = if modern(&context) {
            let Some(answer) = answered::<ElicitResult>(&responses, "note")? else {
                let ask = ElicitRequestParams::FormElicitationParams {
                    meta: None,
                    message: message.into(),
                    requested_schema: ElicitationSchema::from_type::<Named>().map_err(internal)?,
                };
                return Ok(required("note", InputRequest::Elicitation(ElicitRequest::new(ask))));
            };
            answer.content.and_then(|content| serde_json::from_value(content.into()).ok())
        } else {
            match context.peer.elicit::<Named>(message).await {
                Ok(picked) => picked,
                Err(error) => return Ok(failed(error).into()),
            }
        };
        let name = picked.map_or_else(|| "ideas".into(), |picked| picked.name);
        Ok(match self.notes.lock().unwrap().get(&name) {
            Some(note) => text(note).into(),
            None => failed(format!("there is no note named {name}")).into(),
        })
    }

    #[tool(description = "List the folders that the client works in", annotations(read_only_hint = true))]
    async fn list_folders(
        &self,
        responses: InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = if modern(&context) {
            match answered::<ListRootsResult>(&responses, "roots")? {
                None => return Ok(required("roots", InputRequest::ListRoots(ListRootsRequest::default()))),
                Some(answer) => Ok(answer),
            }
        } else {
            context.peer.list_roots().await
        };
        Ok(match answer {
            Ok(answer) => text(answer.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join("\n")).into(),
            Err(error) => failed(error).into(),
        })
    }

    #[tool(description = "Add a note, or change its text", annotations(destructive_hint = false))]
    async fn add_note(
        &self,
        Parameters(NewNote { name, text: note }): Parameters<NewNote>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        self.notes.lock().unwrap().insert(name.clone(), note);
        self.log(&context, LoggingLevel::Info, &format!("added {name}")).await;
        self.notify(&context).await;
        Ok(text(format!("added {name}")))
    }

    #[tool(description = "Delete a note by its name")]
    async fn delete_note(
        &self,
        Parameters(Named { name }): Parameters<Named>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        if self.notes.lock().unwrap().remove(&name).is_none() {
            return Ok(failed(format!("there is no note named {name}")));
        }
        self.notify(&context).await;
        Ok(text(format!("deleted {name}")))
    }

    /// Tells the client that the list of notes is another.
    async fn notify(&self, context: &RequestContext<RoleServer>) {
        let _ = self.changed.send(());
        if modern(context) {
            return; // whoever listens is told there
        }
        let _ = context.peer.notify_resource_list_changed().await;
        let index = "notes://index";
        if self.subscribed.lock().unwrap().contains(index) {
            let _ = context.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(index)).await;
        }
    }

    async fn log(&self, context: &RequestContext<RoleServer>, level: LoggingLevel, line: &str) {
        let least = if modern(context) { context.meta.log_level() } else { Some(*self.level.lock().unwrap()) };
        if least.is_some_and(|least| level as u8 >= least as u8) {
            let message = LoggingMessageNotificationParam::new(level, json!(line)).with_logger("notes");
            let _ = context.peer.notify_logging_message(message).await;
        }
    }
}

/// Whether the client is asked by a result instead of a request.
fn modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn required(key: &str, ask: InputRequest) -> CallToolResponse {
    InputRequiredResult::new(Some([(key.to_string(), ask)].into()), None).into()
}

fn answered<T: serde::de::DeserializeOwned>(responses: &InputResponses, key: &str) -> Result<Option<T>, ErrorData> {
    let answer = responses.0.as_ref().and_then(|responses| responses.get(key));
    answer
        .map(|answer| serde_json::from_value(answer.clone()))
        .transpose()
        .map_err(|error| ErrorData::invalid_params(format!("input response {key}: {error}"), None))
}

fn internal(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[prompt_router]
impl Notes {
    #[prompt(name = "summarize", description = "Ask for a summary of one note")]
    async fn summarize(&self, Parameters(Named { name }): Parameters<Named>) -> Vec<PromptMessage> {
        let note = self.notes.lock().unwrap().get(&name).cloned().unwrap_or(name);
        vec![PromptMessage::new_text(Role::User, format!("Summarize this note: {note}"))]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_prompts()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_resources_list_changed()
                .enable_completions()
                .enable_logging()
                .build(),
        )
        .with_server_info(Implementation::new("notes", "1.0.0"))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        *self.level.lock().unwrap() = request.level;
        Ok(())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut all = vec![Resource::new("notes://index", "index").with_mime_type("text/plain")];
        for name in self.notes.lock().unwrap().keys() {
            all.push(Resource::new(format!("{NOTE}{name}"), name).with_mime_type("text/plain"));
        }
        let start = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => match cursor.parse::<usize>() {
                Ok(start) if start < all.len() => start,
                _ => return Err(ErrorData::invalid_params("unknown cursor", None)),
            },
        };
        let end = (start + PAGE).min(all.len());
        let mut result = ListResourcesResult::with_all_items(all[start..end].to_vec());
        result.next_cursor = (end < all.len()).then(|| end.to_string());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let note = ResourceTemplate::new(format!("{NOTE}{{name}}"), "note").with_mime_type("text/plain");
        Ok(ListResourceTemplatesResult::with_all_items(vec![note]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let notes = self.notes.lock().unwrap();
        let text = match request.uri.strip_prefix(NOTE) {
            Some(name) => notes.get(name).cloned(),
            None if request.uri == "notes://index" => Some(notes.keys().cloned().collect::<Vec<_>>().join("\n")),
            None => None,
        };
        match text {
            Some(text) => Ok(ReadResourceResult::new(vec![
                ResourceContents::text(text, request.uri).with_mime_type("text/plain"),
            ])
            .into()),
            None => Err(ErrorData::resource_not_found("no such note", Some(json!({ "uri": request.uri })))),
        }
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.subscribed.lock().unwrap().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.lock().unwrap().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changed = self.changed.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                _ = changed.recv() => {}
            }
            let accepted = context.accepted();
            if accepted.resources_list_changed == Some(true) {
                context.sink().notify_resource_list_changed().await.map_err(internal)?;
            }
            let index = "notes://index";
            if accepted.resource_subscriptions.as_ref().is_some_and(|uris| uris.iter().any(|uri| uri == index)) {
                context.sink().notify_resource_updated(index).await.map_err(internal)?;
            }
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let known = match &request.r#ref {
            Reference::Prompt(prompt) => prompt.name == "summarize",
            Reference::Resource(resource) => resource.uri == format!("{NOTE}{{name}}"),
            _ => false,
        };
        if !known || request.argument.name != "name" {
            return Err(ErrorData::invalid_params("nothing to complete by that name", None));
        }
        let notes = self.notes.lock().unwrap();
        let values = notes.keys().filter(|name| name.starts_with(&request.argument.value)).cloned().collect();
        Ok(CompleteResult::new(CompletionInfo::with_all_values(values).map_err(internal)?))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Notes::new().serve(stdio()).await?;
    server.waiting().await?;
    Ok(())
}
