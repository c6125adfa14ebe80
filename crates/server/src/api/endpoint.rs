//! One path of the API, built up from its operations.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::state::ApiState;

/// A path of the API.
pub(super) struct ApiEndpoint {
    pub(super) path: &'static str,
    pub(super) router: MethodRouter<ApiState>,
    pub(super) operations: Vec<ApiOperation>,
}

/// An operation on a path.
pub(super) struct ApiOperation {
    /// HTTP method, in lower case.
    pub(super) method: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Option<SchemaFn>,
    pub(super) body: Option<SchemaFn>,
    /// Whether the service recognises a repeated request by its key.
    pub(super) has_key: bool,
    /// Responses by status.
    pub(super) responses: Vec<(u16, ResponseContent)>,
    /// Statuses of errors beyond those that every request of this kind can have.
    pub(super) problems: &'static [u16],
}

/// A function that returns the schema of a type.
pub(super) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The content of a response.
pub(super) enum ResponseContent {
    /// JSON.
    Json(SchemaFn),
    /// A body of this media type.
    Other(&'static str),
    Nothing,
}

/// Returns a path without operations.
pub(super) fn at(path: &'static str) -> ApiEndpoint {
    ApiEndpoint {
        path,
        router: MethodRouter::new(),
        operations: Vec::new(),
    }
}

/// Returns an operation without requests and responses.
pub(super) fn operation(summary: &'static str) -> ApiOperation {
    ApiOperation {
        method: "",
        summary,
        query: None,
        body: None,
        has_key: false,
        responses: Vec::new(),
        problems: &[],
    }
}

fn describe<T: JsonSchema>(types: &mut SchemaGenerator) -> Schema {
    types.subschema_for::<T>()
}

impl ApiEndpoint {
    pub(super) fn get<T: 'static>(
        self,
        handler: impl Handler<T, ApiState>,
        operation: ApiOperation,
    ) -> Self {
        self.on("get", MethodFilter::GET, handler, operation)
    }

    pub(super) fn post<T: 'static>(
        self,
        handler: impl Handler<T, ApiState>,
        operation: ApiOperation,
    ) -> Self {
        self.on("post", MethodFilter::POST, handler, operation)
    }

    pub(super) fn delete<T: 'static>(
        self,
        handler: impl Handler<T, ApiState>,
        operation: ApiOperation,
    ) -> Self {
        self.on("delete", MethodFilter::DELETE, handler, operation)
    }

    fn on<T: 'static>(
        mut self,
        method: &'static str,
        filter: MethodFilter,
        handler: impl Handler<T, ApiState>,
        operation: ApiOperation,
    ) -> Self {
        self.router = self.router.merge(on(filter, handler));
        self.operations.push(ApiOperation {
            method,
            ..operation
        });
        self
    }
}

impl ApiOperation {
    pub(super) fn query<T: JsonSchema>(self) -> Self {
        let query = Some::<SchemaFn>(|types| T::json_schema(types));
        Self { query, ..self }
    }

    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.takes_as(describe::<T>)
    }

    pub(super) fn takes_as(self, takes: SchemaFn) -> Self {
        let takes = Some(takes);
        Self {
            body: takes,
            ..self
        }
    }

    pub(super) fn gives<T: JsonSchema>(self, status: u16) -> Self {
        self.answers(status, ResponseContent::Json(describe::<T>))
    }

    pub(super) fn keyed(self) -> Self {
        Self {
            has_key: true,
            ..self
        }
    }

    pub(super) fn answers(mut self, status: u16, content: ResponseContent) -> Self {
        self.responses.push((status, content));
        self
    }

    pub(super) fn problems(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }
}
