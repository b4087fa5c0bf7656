"""The documents that both sides know have the members that the API's models describe."""

import pytest
from pydantic import BaseModel

from hushpoll_server.api.models import (
    drafts,
    jobs,
    results,
    surveys,
)
from hushpoll_server.api.resources import kept_results, survey_reports
from hushpoll_server.api.resources.administration import tokens
from hushpoll_shared.wire import documents, regression_documents

PAIRS: list[tuple[type, type[BaseModel]]] = [
    (documents.AuditEntry, kept_results.AuditEntry),
    (documents.AuditSummary, kept_results.AuditSummary),
    (documents.ClosedDocument, surveys.CloseAnswer),
    (documents.CountsDocument, results.CountsAnswer),
    (documents.DeletedRecords, results.DeletionAnswer),
    (documents.DraftDocument, drafts.DraftAnswer),
    (documents.DraftSummary, drafts.DraftSummary),
    (documents.EncodingDocument, kept_results.EncodingAnswer),
    (documents.ExpectedAudit, drafts.ExpectedAudit),
    (documents.NewToken, tokens.TokenAnswer),
    (documents.JobDocument, jobs.JobAnswer),
    (documents.JobError, jobs.JobError),
    (documents.JobProgress, jobs.JobProgress),
    (documents.JobResult, jobs.JobResult),
    (documents.LaunchPlan, drafts.LaunchAnswer),
    (documents.LearnerDocument, kept_results.LearnerAnswer),
    (documents.LearnerParameter, kept_results.LearnerParameter),
    (documents.LearnersDocument, kept_results.LearnerList),
    (documents.ManifestProblemDocument, drafts.ManifestProblemAnswer),
    (documents.ModelSummary, kept_results.ModelSummary),
    (documents.ProtectionDocument, kept_results.Protection),
    (documents.PublicationDocument, survey_reports.PublishedResultsAnswer),
    (documents.PublishWarning, surveys.PublishWarning),
    (documents.PublishedDocument, surveys.PublishAnswer),
    (documents.QuestionPrecision, drafts.QuestionPrecision),
    (documents.RefusedDay, results.RefusedDay),
    (regression_documents.RegressionEntry, kept_results.RegressionEntry),
    (regression_documents.RegressionSummary, kept_results.RegressionSummary),
    (documents.RotatedToken, tokens.RotateAnswer),
    (documents.SurveySummary, surveys.SurveySummary),
    (documents.TokenSummary, tokens.TokenSummary),
    (documents.TrainingRun, kept_results.Run),
    (documents.ValidationDocument, drafts.ValidationAnswer),
]


@pytest.mark.parametrize(("document", "model"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_document_has_the_members_that_the_api_describes(document, model):
    fields = model.model_fields
    assert set(document.__annotations__) == set(fields)
    # what the API may leave out, the client must not rely on
    optional = {name for name, field in fields.items() if not field.is_required()}
    assert optional <= set(document.__optional_keys__)
