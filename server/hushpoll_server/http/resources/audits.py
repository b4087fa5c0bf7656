"""Audits of fairness: those of a survey's version, what each found, deletion."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.audits import AuditList, AuditPath
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.openapi import BEARER, Routes, problems

api = Routes(
    "audits", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="audits")], abp_security=BEARER
)


@api.get(
    "/surveys/<name>/versions/<int:version>/audits",
    responses={200: AuditList, **problems(401, 403, 404, 422)},
)
@endpoint("read")
def list_audits(path: VersionPath) -> Response:
    """List the newest 200 audits of fairness of a version; those that are done say what they found.

    An audit is asked for as a job, `jobs/fairness`, and its result is the job's. It is kept until
    it is deleted.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.actions.looked(current_grant().actor, "audits", row.name, row.version)
    return json_answer(AuditList.model_validate({"audits": parts.audits.history(row)}))


@api.delete("/audits/<audit_id>", responses={204: None, **problems(401, 403, 404, 409, 422)})
@endpoint("train")
def delete_audit(path: AuditPath) -> Response:
    """Delete an audit that has ended, with its result.

    For the token that asked for it, and for administrators.
    """
    parts = services()
    job = parts.audits.find(path.audit_id)
    row = parts.surveys.by_id(job.version_id)
    current_grant().require_survey(row.name)
    parts.audits.delete(job, current_grant())
    parts.actions.record(
        current_grant().actor,
        "deleted-audit",
        survey=row.name,
        version=row.version,
        subject=job.id,
    )
    return Response(status=204)
