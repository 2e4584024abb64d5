"""Builds the activities of each task queue from the settings and the dependencies."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio.client import Client

from activities.feeds.enrich import EnrichActivities
from activities.feeds.feed import FeedActivities
from activities.fics.fic import FicActivities
from activities.notifications.discord import DiscordActivities
from activities.notifications.mail import MailActivities
from activities.notifications.notify import NotifyActivities
from activities.operations.dead_letter import DeadLetterActivities, Retention
from activities.operations.reconcile import ReconcileActivities
from activities.operations.replay import ReplayActivities
from activities.publishing.account import AccountActivities
from activities.publishing.automation import AutomationActivities
from activities.publishing.post import PostActivities
from activities.publishing.publish import PublishActivities
from activities.publishing.storage_cleanup import StorageCleanupActivities
from activities.series.backfill import BackfillActivities
from activities.series.chapter import ChapterActivities
from activities.series.source import SourceActivities
from activities.series.sweep import SweepActivities, SweepPolicy
from activities.summaries.request import RequestActivities, RequestPolicy
from fascicle.domain.names import DELIVER_QUEUE, FETCH_QUEUE, MAIN_QUEUE, PUBLISH_QUEUE
from fascicle.domain.summaries.request_rule import RetryRule
from fascicle.services.dependencies import Dependencies
from fascicle.services.feeds.look import feed_books
from fascicle.services.fics.next_step import FicPlanner, fic_policy
from fascicle.services.fics.result import Reader
from fascicle.services.publishing.next_step import Planner, PublishPolicy
from fascicle.services.series.next_check import poll_policy
from fascicle.services.summaries.draft import Summarizer, SummaryPolicy
from fascicle.services.summaries.requests import open_request_desk
from fascicle.settings.settings import Settings
from fascicle.temporal.metrics import Metrics

_IDLE_RUNS_KEPT = timedelta(days=2)


def activities_by_queue(
    client: Client, dependencies: Dependencies, metrics: Metrics
) -> dict[str, list[Callable[..., Any]]]:
    """The activities of each task queue."""
    settings, engine = dependencies.settings, dependencies.engine
    policy = poll_policy(settings)
    sweep = SweepActivities(engine, dependencies.sites, client, _sweep_policy(settings), metrics)
    source = SourceActivities(engine, dependencies.sites, policy, metrics)
    delay = settings.notify_delay_seconds
    backfill = BackfillActivities(engine, dependencies.sites, policy, metrics, notify_delay_seconds=delay)
    replay = ReplayActivities(engine, dependencies.sites, policy)
    reconcile = ReconcileActivities(
        engine,
        client,
        told_within=policy.told_within,
        sweep_is_fresh_for=policy.sweep_is_fresh_for,
        enrich=settings.enrich,
        requests_at_once=settings.request_concurrency,
    )
    chapter = ChapterActivities(
        engine, metrics, notify_delay_seconds=delay, daily_cap=settings.notify_daily_cap
    )
    dead_letter = DeadLetterActivities(engine, _retention(settings))
    automation = AutomationActivities(
        engine, client, every=timedelta(seconds=settings.automation_every_seconds)
    )
    notify = NotifyActivities(
        engine,
        dependencies.notifier,
        dependencies.discord,
        dependencies.vault,
        metrics,
        retry_base_seconds=settings.retry_base_seconds,
        daily_cap=settings.notify_daily_cap,
    )
    planner = Planner(engine, client, _publish_policy(settings))
    post = PostActivities(engine, planner, metrics)
    publish = PublishActivities(
        engine,
        planner,
        dependencies.tokens,
        dependencies.deviantart,
        dependencies.objects,
        settings.account_gate,
        metrics,
    )
    account = AccountActivities(engine, dependencies.tokens)
    mail = MailActivities(engine, dependencies.notifier, dependencies.vault, settings)
    cleanup = StorageCleanupActivities(
        engine, dependencies.objects, kept_for=timedelta(days=settings.file_kept_days)
    )
    feed = FeedActivities(engine, client, dependencies.feeds, feed_books(settings), metrics)
    fic = _fic_activities(client, dependencies, metrics)
    desk = open_request_desk(dependencies, client) if settings.enrich_summarize else None
    enrich = EnrichActivities(engine, dependencies.pages, metrics, desk)
    request = _request_activities(client, dependencies, metrics)
    discord = DiscordActivities(
        engine, FicPlanner(engine, fic_policy(settings)), dependencies.discord, dependencies.vault
    )
    return {
        MAIN_QUEUE: [
            source.record_poll_failure,
            sweep.record_sweep_failure,
            sweep.release_sources,
            source.record_pause,
            source.pin_cadence,
            backfill.list_owed,
            chapter.store_chapter,
            dead_letter.bury,
            dead_letter.age_out,
            dead_letter.list_letters,
            dead_letter.reopen,
            dead_letter.put_back,
            reconcile.find_orphans,
            notify.announce_chapter,
            notify.compose_digests,
            post.plan_post,
            post.change_post,
            post.record_attempt,
            account.list_due_accounts,
            account.warn_expiring,
            automation.fire_automations,
            automation.look_after_posts,
            cleanup.remove_deleted_files,
            fic.enlist_subscribers,
            fic.plan_fic,
            fic.record_fic_failure,
            feed.store_item,
            enrich.give_up_enriching,
            request.begin_request,
            request.validate_summary,
            request.persist_summary,
            request.record_request_failure,
            request.record_request_cancelled,
        ],
        FETCH_QUEUE: [
            source.poll_source,
            feed.poll_feed,
            feed.replay_run,
            backfill.backfill_source,
            replay.find_chapters,
            sweep.sweep_site,
            account.renew_account,
            fic.fetch_fic,
            enrich.enrich_item,
            request.extract_article,
            request.summarize_article,
        ],
        DELIVER_QUEUE: [notify.deliver_due, mail.deliver_mail, discord.edit_replies],
        PUBLISH_QUEUE: [
            publish.check_account,
            publish.upload_file,
            publish.take_baseline,
            publish.publish_file,
            publish.look_for_file,
        ],
    }


def _fic_activities(client: Client, dependencies: Dependencies, metrics: Metrics) -> FicActivities:
    planner = FicPlanner(dependencies.engine, fic_policy(dependencies.settings))
    reader = Reader(dependencies.ao3, dependencies.other_fics, dependencies.settings.ship_rules)
    return FicActivities(
        dependencies.engine,
        client,
        planner,
        dependencies.ao3,
        dependencies.other_fics,
        reader,
        metrics,
    )


def _request_activities(client: Client, dependencies: Dependencies, metrics: Metrics) -> RequestActivities:
    settings, engine = dependencies.settings, dependencies.engine
    summarizer = Summarizer(engine, dependencies.language_model, summary_policy(settings), dependencies.clock)
    policy = RequestPolicy(concurrency=settings.request_concurrency, retry=settings.request_retry)
    return RequestActivities(
        engine, client, dependencies.articles, summarizer, policy, metrics, dependencies.clock
    )


def summary_policy(settings: Settings) -> SummaryPolicy:
    return SummaryPolicy(
        models=tuple(settings.llm_models),
        context_tokens=settings.llm_context_tokens,
        output_tokens=settings.llm_output_tokens,
        request_tokens=settings.llm_request_tokens,
        daily_tokens=settings.llm_daily_tokens,
        daily_cost=settings.llm_daily_cost,
        price_input=settings.llm_price_input,
        price_output=settings.llm_price_output,
    )


def retry_rules(settings: Settings) -> dict[str, RetryRule]:
    """Activities whose retry delays have their own settings (R3)."""
    stages = ("extract_article", "summarize_article", "validate_summary", "persist_summary")
    return dict.fromkeys(stages, settings.request_retry)


def _retention(settings: Settings) -> Retention:
    return Retention(
        letters=timedelta(days=settings.dead_letter_days),
        fics=timedelta(days=settings.fic_kept_days),
        runs=timedelta(days=settings.run_kept_days),
        idle_runs=min(_IDLE_RUNS_KEPT, timedelta(days=settings.run_kept_days)),
        documents=timedelta(days=settings.document_kept_days),
        items=timedelta(days=settings.item_kept_days),
        requests=timedelta(days=settings.request_kept_days),
    )


def _publish_policy(settings: Settings) -> PublishPolicy:
    return PublishPolicy(
        attempts=settings.publish_attempts,
        retry_seconds=settings.publish_retry_seconds,
        looks=settings.publish_look_seconds,
        timeout_seconds=settings.publish_timeout_seconds,
        file_max_bytes=settings.file_max_bytes,
    )


def _sweep_policy(settings: Settings) -> SweepPolicy:
    return SweepPolicy(
        interval=timedelta(seconds=settings.sweep_seconds),
        overlap=timedelta(seconds=settings.sweep_overlap_seconds),
        intervals=settings.intervals,
    )
